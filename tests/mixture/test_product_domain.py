"""Densities of table rows: products of intervals, categories, counts and strings."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import chisquare, kstest
from sklearn.model_selection import GridSearchCV

from mercer import MercerMixture
from mercer.data.points import Points
from mercer.domains import (
    Categories,
    Counts,
    FiniteSpace,
    Interval,
    ProductDomain,
    Strings,
    table_domain,
)
from mercer.kernels import Categorical, Gaussian, NGram, On, table_kernel
from tests.expectations import raises


def frame(n=80, seed=0):
    """A number whose mean depends on a color, and a flag."""
    rng = np.random.default_rng(seed)
    color = rng.choice(["blue", "green", "red"], size=n, p=[0.5, 0.3, 0.2])
    size = rng.normal(size=n) + 2.5 * (color == "red")
    return pd.DataFrame({"size": size, "color": color, "flag": rng.random(n) < 0.3})


DOMAIN = ProductDomain(
    {
        "color": Categories(["blue", "green", "red"]),
        "flag": Categories([False, True]),
        "size": Interval(-6, 8),
    }
)
KERNEL = On("size", Gaussian(1.0)) * On("color", Categorical(0.4)) * On("flag", Categorical(0.5))


def enumerated(n_sizes=1400):
    """All combinations of labels with the midpoints of a fine grid, and the width of its cells."""
    width = 14 / n_sizes
    sizes = -6 + width * (np.arange(n_sizes) + 0.5)
    rows = product(["blue", "green", "red"], [False, True], sizes)
    table = pd.DataFrame(rows, columns=["color", "flag", "size"])[["size", "color", "flag"]]
    return table, width


@pytest.fixture(scope="module")
def fitted():
    return MercerMixture(kernel=KERNEL, domain=DOMAIN).fit(frame())


@pytest.mark.parametrize("n_components", [1, 2])
def test_normalizers_agree_with_quadrature(n_components):
    mixture = MercerMixture(n_components, kernel=KERNEL, domain=DOMAIN, random_state=0)
    mixture.fit(frame())
    table, width = enumerated()
    exact = logsumexp(mixture._log_components(Points(table, "objects")), axis=0) + np.log(width)
    found = mixture.normalization_
    assert (found.standard_errors < 0.03).all()
    assert (np.abs(found.log_constants - exact) < 4 * found.standard_errors).all()
    assert_allclose(mixture.pdf(table).sum() * width, 1, atol=0.05)


def test_order_of_columns_does_not_matter(fitted):
    table = frame(seed=1)
    shuffled = table[["flag", "color", "size"]]
    assert_allclose(fitted.score_samples(shuffled), fitted.score_samples(table))


def test_density_is_zero_outside(fitted):
    row = {"size": [0.0, 9.0, 0.0], "color": ["blue", "blue", "pink"], "flag": [True] * 3}
    p = fitted.pdf(pd.DataFrame(row))
    assert p[0] > 0
    assert_array_equal(p[1:], 0)


def test_draws_have_the_marginals_of_the_density(fitted):
    """Chi-square and Kolmogorov-Smirnov tests at the 1 % level, against exact marginals."""
    drawn, _ = fitted.sample(1000, random_state=3)
    table, _ = enumerated()
    p = fitted.pdf(table)
    p /= p.sum()
    for name in ("color", "flag"):
        expected = pd.Series(p).groupby(table[name]).sum()
        counts = drawn[name].value_counts().reindex(expected.index)
        assert chisquare(counts, 1000 * expected).pvalue > 0.01
    marginal = pd.Series(p).groupby(table["size"]).sum()
    edges = marginal.index.to_numpy() + 0.005

    def distribution(x):
        return np.interp(x, edges, np.cumsum(marginal.to_numpy()), left=0)

    assert kstest(drawn["size"], distribution).pvalue > 0.01
    red = p[table["color"] == "red"]
    sizes = table["size"][table["color"] == "red"]
    mean = (red @ sizes) / red.sum()
    assert abs(drawn["size"][drawn["color"] == "red"].mean() - mean) < 0.5
    assert (drawn.dtypes == frame().dtypes).all()


def test_counts_and_strings_agree_with_enumeration():
    """The same fit over all 3 × 31 elements as a finite space."""
    rng = np.random.default_rng(0)
    words = [w for k in range(5) for w in map("".join, product("ab", repeat=k))]
    table = pd.DataFrame({"visits": rng.integers(0, 3, 40), "word": rng.choice(words[:20], 40)})
    table["word"] = table["word"].astype(object)
    kernel = On("visits", Gaussian(1.0)) * On("word", NGram(2, normalize=True, rho=0.3))
    everything = pd.DataFrame(list(product(range(3), words)), columns=list(table))
    exact = MercerMixture(kernel=kernel, domain=FiniteSpace(everything)).fit(table)
    domain = ProductDomain({"visits": Counts(2), "word": Strings("ab", 4)})
    found = MercerMixture(kernel=kernel, domain=domain).fit(table)
    error = found.normalization_.standard_errors[0]
    assert error < 0.03
    assert abs(found.score(table) - exact.score(table)) < 4 * error
    drawn, _ = found.sample(1000, random_state=1)
    p = exact.pdf(everything)
    for cells, values in (
        (everything["visits"], drawn["visits"]),
        (everything["word"].str.len().clip(1), drawn["word"].str.len().clip(1)),
    ):
        expected = pd.Series(p).groupby(cells).sum()
        counts = values.value_counts().reindex(expected.index, fill_value=0)
        assert chisquare(counts, 1000 * expected / expected.sum()).pvalue > 0.01


@pytest.mark.slow
def test_leave_one_out_alpha_is_best_among_refits():
    table = frame(30, seed=2)
    settings = {"kernel": KERNEL, "domain": DOMAIN}
    alpha = MercerMixture(alpha="leave-one-out", **settings).fit(table).alpha_

    def held_out(value):
        mixture = MercerMixture(alpha=value, **settings)
        return sum(mixture.fit(table.drop(index=i)).score(table.loc[[i]]) for i in table.index)

    assert held_out(alpha) > max(held_out(alpha * 2), held_out(alpha / 2))


def test_grid_search_over_alpha_and_bandwidth():
    table = frame(90)
    kernels = [KERNEL.scale_bandwidths(factor) for factor in (0.1, 1.0)]
    grid = {"alpha": [1e-3, 5.0], "kernel": kernels}
    search = GridSearchCV(MercerMixture(domain=DOMAIN), grid, cv=3).fit(table)
    assert search.best_params_ == {"alpha": 5.0, "kernel": kernels[1]}
    # better than independent columns with a uniform size
    assert search.best_score_ > -np.log(14) - 1.03 - 0.61


def test_domain_of_an_array():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 2, 60)])
    kernel = On(0, Gaussian(1.0)) * On(1, Categorical(0.5))
    domain = ProductDomain({0: Interval(-5, 5), 1: Categories([0.0, 1.0])})
    drawn, _ = MercerMixture(kernel=kernel, domain=domain).fit(X).sample(50, random_state=0)
    assert drawn.shape == (50, 2)
    assert set(drawn[:, 1]) == {0.0, 1.0}


def test_weights_equal_repeated_rows():
    """The nodes depend on the selected rows, so the normalizers agree up to their errors."""
    table, weights = frame(60), np.r_[np.full(30, 2), np.ones(30)].astype(int)
    weighted = MercerMixture(kernel=KERNEL, domain=DOMAIN).fit(table, sample_weight=weights)
    repeated = table.loc[table.index.repeat(weights)]
    copied = MercerMixture(kernel=KERNEL, domain=DOMAIN).fit(repeated)
    error = np.hypot(weighted.normalization_.standard_errors, copied.normalization_.standard_errors)
    assert abs(weighted.score(table) - copied.score(table)) < 4 * error[0]


def test_pickled_model_is_the_same(fitted):
    restored = pickle.loads(pickle.dumps(fitted))
    assert_allclose(restored.score_samples(frame()), fitted.score_samples(frame()))


@pytest.mark.parametrize(
    "column",
    [
        Interval(-3, 3),
        Categories(list("abc")),
        Counts(6, low=-1),
        Strings("xyz", 3),
        Strings("xy", 4, min_length=2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", range(3))
def test_densities_of_moves_and_uniform_draws_are_normalized(column, scale):
    rng = np.random.default_rng(0)
    column = column.fit(column.uniform(200, rng))
    if isinstance(column, Interval):
        cells, width = np.linspace(-40, 40, 20_001), 80 / 20_000
    elif isinstance(column, Strings):
        lengths = range(column.min_length, column.max_length + 1)
        words = [w for k in lengths for w in map("".join, product(column.alphabet, repeat=k))]
        cells, width = np.array(words, dtype=object), 1
    else:
        cells, width = np.array(list(column.values), dtype=object), 1
    origins = column.uniform(5, rng)
    moves = np.exp(column.log_moves(cells, origins, scale))
    assert_allclose(moves.sum(axis=0) * width, 1, rtol=1e-6)
    inside = column.contains(cells)
    assert_allclose(np.exp(column.log_uniform(cells))[inside].sum() * width, 1, rtol=1e-3)
    # draws follow these densities
    drawn = column.move(np.repeat(origins[:1], 4000), scale, rng)
    if isinstance(column, Interval):
        assert abs((drawn <= origins[0]).mean() - 0.5) < 0.03
        return
    frequencies = np.array([(drawn == cell).mean() for cell in cells])
    assert np.abs(frequencies - moves[:, 0]).max() < 0.04


def test_domain_of_a_table():
    table = frame()
    table["visits"] = np.arange(80) % 11
    table["grade"] = pd.Categorical(["low"] * 80, categories=["low", "high"], ordered=True)
    domain = table_domain(table, widen=0.5)
    assert domain.columns["visits"].values == range(16)
    assert domain.columns["grade"].values == ["low", "high"]
    assert domain.columns["flag"].values == [False, True]
    spread = np.ptp(table["size"])
    assert_allclose(domain.columns["size"].high, table["size"].max() + 0.5 * spread)
    MercerMixture(kernel=table_kernel(table), domain=domain).fit(table)


def test_invalid_domains_raise():
    table = frame()
    columns = DOMAIN.columns
    with raises(ValueError, "size"):
        MercerMixture(kernel=KERNEL, domain=ProductDomain({"size": Interval(-6, 8)})).fit(table)
    narrow = ProductDomain(columns | {"size": Interval(-1, 1)})
    with raises(ValueError, "size", "training rows"):
        MercerMixture(kernel=KERNEL, domain=narrow).fit(table)
    with raises(TypeError, "size", "Interval"):
        ProductDomain({"size": (0, 1)})
    with raises(ValueError, "Interval"):
        Interval(2, 1)
    with raises(ValueError, "Categories"):
        Categories(["a", "a"])
    with raises(ValueError, "high=-1"):
        Counts(-1)
    with raises(ValueError, 5001, 2000):
        Counts(5000)
    with raises(ValueError, "alphabet='aa'"):
        Strings("aa", 2)
    with raises(ValueError, "max_length=0"):
        Strings("ab", 0)
    with raises(TypeError, "ProductDomain"):
        MercerMixture(kernel=NGram(2), domain=ProductDomain({0: Strings("ab", 3)})).fit(["ab", "a"])
    missing = table.copy()
    missing.loc[3, "size"] = np.nan
    with raises(ValueError, "size", "missing"):
        table_domain(missing)
    with raises(ValueError, "size", "missing"):
        MercerMixture(kernel=KERNEL, domain=DOMAIN).fit(missing)
    texts = pd.DataFrame({"text": [f"number {i} of many texts" for i in range(60)]})
    with raises(ValueError, "text", "Strings"):
        table_domain(texts)


def test_saved_model_is_the_same(tmp_path):
    import mercer

    rng = np.random.default_rng(0)
    table = frame(40)
    table["visits"] = rng.integers(0, 4, 40)
    table["word"] = np.array(rng.choice(["a", "ab", "bb"], 40), dtype=object)
    domain = ProductDomain(DOMAIN.columns | {"visits": Counts(6), "word": Strings("ab", 3)})
    mixture = MercerMixture(kernel=table_kernel(table), domain=domain).fit(table)
    mercer.save(mixture, tmp_path / "model.mercer")
    restored = mercer.load(tmp_path / "model.mercer")
    assert_allclose(restored.score_samples(table), mixture.score_samples(table))
    drawn, again = (m.sample(5, random_state=0)[0] for m in (mixture, restored))
    pd.testing.assert_frame_equal(drawn, again)
