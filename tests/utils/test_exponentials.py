"""Exponentials in compiled code and by NumPy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mercer import KernelPCA
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.utils import compiled
from mercer.utils.compiled import exponentials, uses_compiled_code

ROOT = Path(__file__).parents[2]
RANGES = {
    np.float64: [(-1, 1), (-40, 0), (-700, 700), (-750, -690), (-1e300, 0), (-1e-9, 1e-9)],
    np.float32: [(-1, 1), (-40, 0), (-86, 86), (-110, -80), (-1e30, 0), (-1e-5, 1e-5)],
}


@pytest.fixture(params=["compiled", "NumPy"])
def implementation(request, monkeypatch):
    """Each of the two ways; the first one needs the compiled library."""
    if request.param == "NumPy":
        monkeypatch.setattr(compiled, "_functions", dict)
    elif not uses_compiled_code():
        pytest.skip("the library was not compiled, or NumPy is faster on this CPU")
    assert uses_compiled_code() == (request.param == "compiled")


def exact(x):
    """exp(x) with an error of at most half a unit in the last place of the type of x."""
    wide = np.longdouble if x.dtype == np.float64 else np.float64
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(x.astype(wide))


def assert_accurate(found, x):
    expected, numbers = exact(x), np.finfo(x.dtype)
    with np.errstate(over="ignore", under="ignore"):
        inside = expected <= numbers.max
    unit = numbers.eps * np.maximum(expected[inside], numbers.tiny)
    # a polynomial of rounded terms, and the rounding of the exact value where long double is double
    assert (np.abs(found[inside] - expected[inside]) <= 1.5 * unit).all()
    assert np.isinf(found[~inside]).all()


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:overflow")
def test_values_are_accurate_to_the_last_digits(dtype, rng):
    for low, high in RANGES[dtype]:
        x = rng.uniform(low, high, 4001).astype(dtype)
        assert_accurate(exponentials(x.copy()), x)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:overflow")
def test_special_values(dtype):
    x = np.zeros(1000, dtype)
    x[::9] = -np.inf
    x[1::9] = np.nan
    x[2::9] = np.inf
    x[3::9] = -0.0
    x[4::9] = np.finfo(dtype).max
    x[5::9] = np.finfo(dtype).min
    expected = {0: 0, 1: np.nan, 2: np.inf, 3: 1, 4: np.inf, 5: 0, 6: 1, 7: 1, 8: 1}
    found = exponentials(x)
    for start, value in expected.items():
        np.testing.assert_array_equal(found[start::9], value)


@pytest.mark.usefixtures("implementation")
@given(
    data=arrays.arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(1, 40), st.integers(1, 90)),
        elements=st.floats(-100, 50, width=32),
    ),
    steps=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    upper=st.sampled_from([np.inf, 0.0, -3.5]),
)
def test_parts_of_arrays_are_replaced_and_nothing_else(data, steps, upper):
    part = data[:: steps[0], :: steps[1]]
    before, clipped = data.copy(), np.minimum(part, np.asarray(upper, data.dtype))
    assert exponentials(part, upper) is part
    assert_accurate(part, clipped)
    untouched = np.ones(data.shape, bool)
    untouched[:: steps[0], :: steps[1]] = False
    np.testing.assert_array_equal(data[untouched], before[untouched])


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("n", [511, 512, 513, 575, 1000])
def test_every_length(n, rng):
    x = rng.uniform(-5, 0, n)
    assert_accurate(exponentials(x.copy()), x)


@pytest.mark.parametrize(
    "x",
    [
        np.linspace(-1, 0, 1200).reshape(20, 60).T,  # columns are contiguous
        np.linspace(-1, 0, 1200).reshape(20, 30, 2),
        np.linspace(-1, 0, 1200).astype(">f8"),
        np.linspace(-1, 0, 1200).astype(np.longdouble),
        np.linspace(-1, 0, 1200)[::-1],
        np.linspace(-1, 0, 1200).reshape(40, 30)[::-1],
        np.zeros((0, 5)),
    ],
)
def test_other_arrays(x):
    expected = np.exp(x)
    np.testing.assert_allclose(exponentials(x), expected, rtol=1e-15)


def test_repeated_rows_of_a_view_are_not_replaced_twice():
    rows = np.lib.stride_tricks.sliding_window_view(np.linspace(-1, 0, 1000), 600, writeable=True)
    overlapping = rows[:2]
    assert overlapping.strides[0] < overlapping.shape[1] * overlapping.itemsize
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "_functions", lambda: {np.dtype(np.float64): pytest.fail})
        exponentials(overlapping)


def test_read_only_arrays_are_an_error():
    x = np.zeros(1000)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        exponentials(x)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(1.0), Laplacian(2.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_agree_up_to_rounding_error(kernel, dtype, rng, monkeypatch):
    X = rng.normal(size=(300, 4)).astype(dtype)
    first = kernel(X)
    monkeypatch.setattr(compiled, "_functions", dict)
    np.testing.assert_allclose(first, kernel(X), rtol=4 * float(np.finfo(dtype).eps))


def test_gaussian_kernel_of_almost_equal_points_is_at_most_one(rng):
    X = np.repeat(rng.normal(size=(20, 30)), 20, axis=0)
    K = Gaussian(0.1)(X, X.copy())
    assert K.max() <= 1
    assert np.isfinite(K).all()


# --- installation ---------------------------------------------------------------------------------


def test_library_is_compiled_by_ci():
    if not os.environ.get("CI") or not (ROOT / "hatch_build.py").exists():
        pytest.skip("not a checkout in CI")
    assert list(Path(compiled.__file__).parent.glob("_loops.*"))


def test_environment_variable_selects_numpy():
    code = "from mercer.utils.compiled import uses_compiled_code as u; print(u())"
    variables = os.environ | {"MERCER_COMPILED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("content", [None, b"a library of another platform"])
def test_without_a_usable_library_numpy_is_used(content, tmp_path, monkeypatch, rng):
    if content is not None:
        (tmp_path / "_loops.so").write_bytes(content)
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "__init__.py"))
    compiled._functions.cache_clear()
    try:
        assert not uses_compiled_code()
        assert len(KernelPCA(2).fit_transform(rng.normal(size=(100, 3)))) == 100
    finally:
        compiled._functions.cache_clear()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_source_compiles_without_warnings():
    sources = [str(path) for path in Path(compiled.__file__).parent.glob("*.c")]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run(["cc", *flags, *sources], check=True)


def test_components_equal_those_of_numpy(rng, monkeypatch):
    X = rng.normal(size=(700, 8))
    kernel = Gaussian(3.0)
    found = KernelPCA(4, kernel=kernel).fit(X)
    monkeypatch.setattr(compiled, "_functions", dict)
    expected = KernelPCA(4, kernel=kernel).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-9)
