"""The state is read from the address, and from nothing that is not checked."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
from mercer.explorer.state import _MOST_NAMES, KERNELS, State, parse_state

names = st.text(max_size=20)
states = st.builds(
    State,
    data=st.sampled_from(["rings", "wine", "given", "upload-0123456789abcdef"]),
    label=st.none() | names,
    ignore=st.lists(names, max_size=3).map(tuple),
    categorical=st.lists(names, max_size=3).map(tuple),
    scale=st.none() | st.booleans(),
    kernel=st.sampled_from(list(KERNELS)),
    bandwidth=st.none() | st.floats(1e-12, 1e12),
    degree=st.integers(1, 10),
    components=st.integers(1, 12),
    clusters=st.none() | st.integers(1, 12),
    order=st.sampled_from(["entropy", "variance"]),
    picks=st.sets(st.integers(1, 400), max_size=12).map(sorted).map(tuple),
    center=st.booleans(),
    terms=st.sampled_from(["selected", "kronmal-tarter", "all"]),
    turn=st.tuples(st.integers(-360, 360), st.integers(-90, 90)),
)


@given(states)
def test_an_address_brings_back_its_state(state):
    assert parse_state(parse_qsl(state.query(), keep_blank_values=True)) == state


def test_the_defaults_need_no_address():
    assert State().query() == ""
    assert parse_state([("something", "else")]) == State()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("data", "../../etc/passwd", "no name of a data set"),
        ("kernel", "__import__", "must be one of gaussian"),
        ("bandwidth", "nan", "a number from 1e-12 to 1e+12"),
        ("bandwidth", "-1", "a number from"),
        ("bandwidth", "wide", "a number from"),
        ("components", "13", "from 1 to 12"),
        ("components", "1.5", "whole number"),
        ("picks", "0,1", "from 1 to 400"),
        ("picks", ",".join(map(str, range(1, 14))), "at most 12"),
        ("turn", "5", "whole number"),
        ("scale", "yes", "one of 0, 1"),
        ("x", "x" * 201, "at most 200"),
    ],
)
def test_what_makes_no_sense_is_refused(name, value, says):
    with pytest.raises(ValueError, match=name) as refused:
        parse_state([(name, value)])
    assert says in str(refused.value)


def test_there_are_never_more_clusters_than_components():
    assert parse_state([("components", "3"), ("clusters", "7")]).n_clusters == 3
    assert parse_state([("picks", "1,4"), ("clusters", "1")]).n_clusters == 1
    assert parse_state([("picks", "1,4")]).n_clusters == 2


@pytest.mark.parametrize("name", ["ignore", "categorical"])
def test_only_so_many_columns_are_named(name):
    few = [(name, f"c{j}") for j in range(_MOST_NAMES)]
    assert len(getattr(parse_state(few), name)) == _MOST_NAMES
    with pytest.raises(ValueError, match=f"{name}: more than {_MOST_NAMES} columns; name fewer"):
        parse_state([*few, (name, "one more")])
