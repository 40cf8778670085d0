"""Laws that hold for every estimator: what must not matter does not.

``pytest tests/properties`` tries a few samples of each; ``./run laws`` as many as it is told.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import EntropyClustering, KernelDenoiser, KernelECA, KernelPCA, MercerMixture
from mercer.kernels import Gaussian
from mercer.solvers import Dense, Fourier, Lanczos, Nystrom
from tests.properties.estimator_cases import CASES, answers, fit, targets, together
from tests.properties.strategies import Tally, assert_agree, condition, fitted, law, worlds

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

seeds = st.integers(0, 2**32 - 1)


def every(name):
    """Every estimator to which the law of this name applies."""
    return pytest.mark.parametrize(
        "case", [case for case in CASES if name not in case.exempt], ids=repr
    )


def scales_with_n(model):
    """Whether its eigenvalues are those of K, which grow with the number of rows."""
    return isinstance(model, KernelPCA | KernelECA)


@every("permutation")
@law
@given(world=worlds(), seed=seeds)
def test_the_order_of_rows_does_not_matter(case, world, seed):
    y = targets(case, world.X)
    magnified = condition(case, world, y)
    order = np.random.default_rng(seed).permutation(len(world.X))
    one = fitted(case.make(world.width), world.X, y)
    other = fit(case.make(world.width), world.X[order], None if y is None else y[order])
    assert_agree(answers(other, world.new), answers(one, world.new), case, magnified)


@every("doubling")
@law
@given(world=worlds())
def test_every_row_twice(case, world):
    """V, densities, eigenfunctions and projections stay; eigenvalues of K double."""
    y = targets(case, world.X)
    magnified = condition(case, world, y)
    one = fitted(case.make(world.width), world.X, y)
    model = case.make(world.width).set_params(**case.doubled)
    twice = fit(model, np.concatenate([world.X] * 2), None if y is None else np.concatenate([y, y]))
    expected = answers(one, world.new)
    if scales_with_n(one):
        expected["eigenvalues"] = 2 * expected["eigenvalues"]
    assert_agree(answers(twice, world.new), expected, case, magnified)


@every("copies")
@law
@given(world=worlds(), seed=seeds)
def test_a_weight_is_so_many_copies_and_zero_is_absence(case, world, seed):
    counts = np.random.default_rng(seed).integers(0, 4, len(world.X))
    assume((counts > 0).sum() >= 5)
    rows = np.repeat(np.arange(len(world.X)), counts)
    y = targets(case, world.X)
    present = counts > 0
    part = type(world)(world.X[rows], world.new, world.width)
    magnified = condition(case, part, None if y is None else y[rows])
    copied = fitted(case.make(world.width), world.X[rows], None if y is None else y[rows])
    weighted = fit(case.make(world.width), world.X, y, counts)
    absent = fit(
        case.make(world.width), world.X[present], None if y is None else y[present], counts[present]
    )
    expected = answers(copied, world.new)
    assert_agree(answers(weighted, world.new), expected, case, magnified)
    assert_agree(answers(absent, world.new), answers(weighted, world.new), case, magnified)


@every("scaling")
@law
@given(world=worlds(), exponent=st.floats(-30, 30))
def test_data_and_bandwidth_in_other_units(case, world, exponent):
    unit = 10.0**exponent
    y = targets(case, world.X)
    magnified = condition(case, world, y)
    one = fitted(case.make(world.width), world.X, y)
    other = fit(case.make(unit * world.width), unit * world.X, y)
    expected, found = answers(one, world.new), answers(other, unit * world.new)
    if case.window or hasattr(one, "normalization_"):
        expected["log density"] = expected["log density"] - world.X.shape[1] * np.log(unit)
    if isinstance(one, KernelDenoiser):
        found["output"] = found["output"] / unit
    assert_agree(found, expected, case, magnified)


@every("zeros")
@law
@given(world=worlds())
def test_a_column_of_zeros_adds_nothing(case, world):
    def wider(X):
        return np.column_stack([X, np.zeros(len(X))])

    y = targets(case, world.X)
    magnified = condition(case, world, y)
    one = fitted(case.make(world.width), world.X, y)
    other = fit(case.make(world.width), wider(world.X), y)
    expected, found = answers(one, world.new), answers(other, wider(world.new))
    if case.window:  # one dimension more: each window is spread over it
        d = world.X.shape[1]
        volume = one.kernel_.log_normalizer(d + 1) - one.kernel_.log_normalizer(d)
        expected["log density"] = expected["log density"] - volume
    if isinstance(one, KernelDenoiser):
        assert_allclose(found["output"][:, -1], 0, atol=1e-12)
        found["output"] = found["output"][:, :-1]
    assert_agree(found, expected, case, magnified)


@every("in sample")
@law
@given(world=worlds())
def test_training_rows_are_like_any_others(case, world):
    y = targets(case, world.X)
    magnified = condition(case, world, y)
    model = fitted(case.make(world.width), world.X, y)
    scale = 1e-10 * magnified
    if hasattr(model, "fit_transform"):
        other = case.make(world.width)
        at_once = fit_transform(other, world.X, y)
        if isinstance(other, KernelPCA | KernelECA):
            assert_array_equal(other.spectrum_.projections, at_once)
        assert_allclose(abs(at_once), abs(model.transform(world.X)), atol=scale)
    if isinstance(model, EntropyClustering):
        assert_array_equal(model.predict(world.X), model.labels_)
        assert_array_equal(
            together(case.make(world.width).fit_predict(world.X)), together(model.labels_)
        )
    if isinstance(model, MercerMixture):
        assert_array_equal(case.make(world.width).fit_predict(world.X), model.predict(world.X))
    # and each row is answered for itself, whatever company it comes in
    whole = answers(model, world.X)
    for name in whole.keys() - {"eigenvalues", "potential", "together", "products of projections"}:
        alone = [answers(model, world.X[i : i + 1])[name] for i in range(3)]
        assert_allclose(np.concatenate(alone), whole[name][:3], atol=scale, rtol=scale)
    Tally.count += 1


def fit_transform(model, X, y):
    return model.fit_transform(X) if y is None else model.fit_transform(X, y)


def solvers_for(case, d):
    """All but the full decomposition; plane waves where they are quick."""
    kernel = case.make(1.0).kernel
    others = [Lanczos(), Lanczos(stored=False)]
    if kernel.is_psd:
        others.append(Nystrom(10_000))
    if isinstance(kernel, Gaussian) and d == 1:
        others.append(Fourier())
    return others


WITH_SOLVER = [case for case in CASES if case.spectral]


@pytest.mark.parametrize("case", WITH_SOLVER, ids=repr)
@law
@given(world=worlds(), choice=seeds)
def test_the_solver_does_not_matter_beyond_its_bound(case, world, choice):
    others = solvers_for(case, world.X.shape[1])
    solver = others[choice % len(others)]
    y = targets(case, world.X)
    magnified = condition(case, world, y)
    dense = fitted(case.make(world.width).set_params(solver=Dense()), world.X, y)
    other = fitted(case.make(world.width).set_params(solver=solver), world.X, y)
    bound = other.spectrum_.error_bound
    largest = float(dense.spectrum_.eigenvalues.max())
    assert_allclose(
        other.spectrum_.eigenvalues,
        dense.spectrum_.eigenvalues,
        rtol=0,
        atol=bound + 1e-11 * largest,
    )
    # what landmarks leave out of a new point's image is no more than the root of its square
    lost = np.sqrt(bound / largest) if isinstance(solver, Nystrom) else bound / largest
    share = 1e-9 + 10 * lost
    assume(share * magnified < 0.1)
    assert_agree(
        answers(other, world.new), answers(dense, world.new), case, magnified, rounding=share
    )


@every("single precision")
@law
@given(world=worlds())
def test_single_precision_is_right_to_single_precision(case, world):
    X, new = world.X.astype(np.float32), world.new.astype(np.float32)
    y = targets(case, X)
    magnified = condition(case, world, y, tie=1e-4)
    assume(magnified < 1e4)
    double = fitted(case.make(world.width), X.astype(np.float64), y)
    single = fitted(case.make(world.width), X, y)
    if hasattr(single, "transform"):
        assert single.transform(new).dtype == np.float32
    expected = answers(double, new.astype(np.float64))
    assert_agree(answers(single, new), expected, case, magnified, rounding=2e-5)


@every("frames")
@law
@given(world=worlds(), library=st.sampled_from(["pandas", "polars"]))
def test_a_frame_is_its_array(case, world, library):
    names = [f"column {j}" for j in range(world.X.shape[1])]

    def frame(X):
        if library == "pandas":
            return pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
        return pl.DataFrame(X, schema=names)

    y = targets(case, world.X)
    one = fitted(case.make(world.width), world.X, y)
    other = fit(case.make(world.width), frame(world.X), y)
    assert list(other.feature_names_in_) == names
    # a frame is stored by columns, so sums may be taken in another order
    magnified = condition(case, world, y)
    found, expected = answers(other, frame(world.new)), answers(one, world.new)
    assert_agree(found, expected, case, magnified)


@pytest.mark.parametrize("case", CASES, ids=repr)
@law
@given(world=worlds())
def test_a_saved_model_gives_the_same_answers(case, world):
    y = targets(case, world.X)
    model = fitted(case.make(world.width), world.X, y)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        mercer.save(model, path)
        loaded = mercer.load(path)
    expected = answers(model, world.new)
    for name, value in answers(loaded, world.new).items():
        assert_array_equal(value, expected[name], err_msg=name)
    Tally.count += 1


def test_what_a_law_does_not_apply_to_says_why():
    laws = {"permutation", "doubling", "copies", "scaling", "zeros", "in sample", "frames"}
    for case in CASES:
        assert case.exempt.keys() <= laws | {"single precision"}
        assert all(len(reason.split()) > 4 for reason in case.exempt.values())
