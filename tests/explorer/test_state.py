"""The state of the page is parsed from the query and checked."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
from mercer.explorer.state import _MAX_NAMES, KERNELS, State, parse_state
from tests.expectations import raises

names = st.text(max_size=20)
states = st.builds(
    State,
    data=st.sampled_from(["rings", "wine", "given", "upload-0123456789abcdef"]),
    label=st.none() | names,
    ignore=st.lists(names, max_size=3).map(tuple),
    categorical=st.lists(names, max_size=3).map(tuple),
    missing=st.sampled_from(["auto", "drop", "keep"]),
    scale=st.none() | st.booleans(),
    kernel=st.sampled_from(list(KERNELS)),
    bandwidth=st.none() | st.floats(1e-12, 1e12),
    degree=st.integers(1, 10),
    components=st.integers(1, 12),
    clusters=st.none() | st.integers(1, 12),
    method=st.sampled_from(["entropy", "spectral"]),
    order=st.sampled_from(["entropy", "variance"]),
    picks=st.sets(st.integers(1, 400), max_size=12).map(sorted).map(tuple),
    center=st.booleans(),
    terms=st.sampled_from(["selected", "kronmal-tarter", "all"]),
    rotation=st.tuples(st.integers(-360, 360), st.integers(-90, 90)),
)


@given(states)
def test_query_round_trip(state):
    assert parse_state(parse_qsl(state.query(), keep_blank_values=True)) == state


def test_default_state_has_an_empty_query():
    assert State().query() == ""
    assert parse_state([("something", "else")]) == State()


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("data", "../../etc/passwd", ""),
        ("kernel", "__import__", "gaussian"),
        ("bandwidth", "nan", "1e+12"),
        ("bandwidth", "-1", "1e-12"),
        ("bandwidth", "wide", "1e-12"),
        ("components", "13", 12),
        ("components", "1.5", 12),
        ("picks", "0,1", 400),
        ("picks", ",".join(map(str, range(1, 14))), 12),
        ("rotation", "5", 90),
        ("scale", "yes", "0, 1"),
        ("method", "kmeans", "spectral"),
        ("x", "x" * 201, 200),
    ],
)
def test_invalid_values_raise(name, value, limit):
    with raises(ValueError, name, limit):
        parse_state([(name, value)])


def test_clusters_are_limited_by_components():
    assert parse_state([("components", "3"), ("clusters", "7")]).n_clusters == 3
    assert parse_state([("picks", "1,4"), ("clusters", "1")]).n_clusters == 1
    assert parse_state([("picks", "1,4")]).n_clusters == 2


@pytest.mark.parametrize("name", ["ignore", "categorical"])
def test_number_of_column_names_is_limited(name):
    few = [(name, f"c{j}") for j in range(_MAX_NAMES)]
    assert len(getattr(parse_state(few), name)) == _MAX_NAMES
    with raises(ValueError, name, _MAX_NAMES):
        parse_state([*few, (name, "one more")])
