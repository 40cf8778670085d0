"""Kernels on categories, strings, sets and graphs, compared with double loops."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import KernelECA
from mercer.bandwidth import fit_kernel
from mercer.kernels import (
    Categorical,
    Gaussian,
    Graph,
    Hamming,
    Jaccard,
    MinMax,
    NGram,
    On,
    check_kernel,
)
from tests.expectations import raises
from tests.kernels.naive import naive, smallest_eigenvalue

TEXTS = ["banana", "ananas", "kiwi", "", "ab", "abab", "an", "bananas and kiwis", "ab"]
NEW = ["anna", "kiwi", "", "zz", "nab"]


# --- Hamming -----------------------------------------------------------------------------------


def differing(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def bits(n, length, seed=0):
    return np.random.default_rng(seed).integers(0, 2, size=(n, length))


@pytest.mark.parametrize("positions", [1, 3, 4, 5, 40])
@pytest.mark.parametrize("rho", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("categories", [2, 3, 50])
def test_hamming_counts_differing_positions(positions, rho, categories):
    rng = np.random.default_rng(positions)
    X, Y = (rng.integers(0, categories, size=(n, positions)) for n in (12, 7))
    expected = naive(lambda x, y: rho ** differing(x, y), X, Y)
    # a power of 40 factors has at most 40 rounding errors
    assert_allclose(Hamming(rho)(X, Y), expected, rtol=1e-13)
    assert_allclose(Hamming(rho)(X), naive(lambda x, y: rho ** differing(x, y), X, X), rtol=1e-13)


def test_hamming_reads_every_form_of_the_same_rows():
    X = bits(9, 6)
    expected = Hamming(0.3)(X)
    forms = {
        "booleans": X.astype(bool),
        "floats": X.astype(float),
        "lists": X.tolist(),
        "objects": X.astype(object),
        "strings": ["".join(map(str, row)) for row in X],
        "array of strings": np.array(["".join(map(str, row)) for row in X]),
        "labels": np.array(["no", "yes"], dtype=object)[X],
    }
    for name, form in forms.items():
        assert_array_equal(Hamming(0.3)(form), expected, err_msg=name)
        check_kernel(Hamming(0.3), form, form[:4])
    assert_array_equal(Hamming(0.3)(X, X[:4].astype(object)), expected[:, :4])


@pytest.mark.parametrize("rho", [0.3, -0.4])
def test_hamming_on_all_bit_strings_has_the_spectrum_of_its_factors(rho):
    """On {0,1}^d K is a d-fold Kronecker product: eigenvalues (1+ρ)^(d-j) (1-ρ)^j."""
    d = 5
    K = Hamming(rho)(["".join(row) for row in product("01", repeat=d)])
    expected = [
        (1 + rho) ** (d - sum(signs)) * (1 - rho) ** sum(signs)
        for signs in product((0, 1), repeat=d)
    ]
    assert_allclose(np.linalg.eigvalsh(K), sorted(expected), rtol=1e-12)


@pytest.mark.parametrize("rho", [0.0, -0.5, 1.5, float("nan"), "leave-one-out"])
def test_rho_of_categories_must_lie_between_0_and_1(rho):
    with raises(ValueError, f"Categorical(rho={rho!r})", "(0, 1]"):
        Categorical(rho)([[0, 1], [1, 1]])


@pytest.mark.parametrize("rho", [-1.5, 1.5, float("nan")])
def test_rho_of_hamming_must_lie_between_minus_1_and_1(rho):
    with raises(ValueError, f"Hamming(rho={rho})", "[-1, 1]"):
        Hamming(rho)([[0, 1], [1, 1]])


@pytest.mark.parametrize(("rho", "categories"), [(-1.0, 2), (-0.3, 2), (0.0, 5), (-0.25, 5)])
def test_hamming_with_a_rho_that_is_not_positive(rho, categories):
    X = np.array(list(product(range(categories), repeat=3)))[::2]
    K = Hamming(rho)(X)
    assert_allclose(K, naive(lambda x, y: float(rho) ** differing(x, y), X, X), rtol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * len(X)
    assert_allclose(Hamming(rho)(X, X[:4]), K[:, :4], rtol=1e-15)


def test_hamming_rejects_a_rho_too_low_for_the_number_of_categories():
    """With three categories the factor has the eigenvalue 1 + 2ρ, negative below -1/2."""
    assert np.linalg.eigvalsh(Hamming(-0.5)([[0], [1], [2]]))[0] == pytest.approx(0, abs=1e-15)
    with raises(ValueError, "Hamming(rho=-0.6)", 3, "-0.5"):
        Hamming(-0.6)([[0], [1], [2]])
    with raises(ValueError, 3):  # new rows with a third category
        Hamming(-0.6)([[0], [1]], [[2]])


def test_hamming_with_a_negative_rho_scales_like_its_magnitude():
    assert Hamming(-0.5).scale_bandwidths(0.5) == Hamming(-0.0625)


def leave_one_out(rho, X):
    """Sum of log densities of the rows, each under the estimate from all others."""
    sizes = [len(set(column)) for column in X.T]
    normalizer = np.prod([1 + (m - 1) * rho for m in sizes])
    total = 0.0
    for i, x in enumerate(X):
        others = np.delete(X, i, axis=0)
        total += np.log(np.mean([rho ** differing(x, y) for y in others]) / normalizer)
    return total


@pytest.mark.parametrize("categories", [2, 4])
def test_leave_one_out_rho_has_the_largest_likelihood(categories):
    X = np.random.default_rng(categories).binomial(categories - 1, 0.3, size=(25, 4))
    rho = fit_kernel(Hamming("leave-one-out"), X).rho
    assert 0.02 < rho < 0.98
    best = leave_one_out(rho, X)
    assert best >= max(leave_one_out(other, X) for other in np.linspace(0.01, 0.99, 99))
    assert best > max(leave_one_out(rho + 0.001, X), leave_one_out(rho - 0.001, X))


def test_leave_one_out_rho_of_weighted_rows_equals_that_of_copies():
    X = np.random.default_rng(0).integers(0, 2, size=(12, 5))
    counts = np.random.default_rng(1).integers(0, 4, size=12)
    weighted = fit_kernel(Hamming("leave-one-out"), X, counts)
    copied = fit_kernel(Hamming("leave-one-out"), np.repeat(X, counts, axis=0)[::-1])
    assert weighted.rho == pytest.approx(copied.rho, abs=1e-6)


def test_leave_one_out_rho_is_fitted_by_estimators_and_on_columns():
    words = ["0110", "0100", "0110", "0111", "1001", "1001", "1101"]
    expected = fit_kernel(Hamming("leave-one-out"), words)
    assert KernelECA(2, kernel=Hamming("leave-one-out")).fit(words).kernel_ == expected
    table = pd.DataFrame({"word": words, "x": np.arange(7.0)})
    kernel = On("word", Hamming("leave-one-out")) * On("x", Gaussian(1.0))
    fitted = fit_kernel(kernel, table)
    assert fitted == fit_kernel(On("word", expected) * On("x", Gaussian(1.0)), table)


def test_leave_one_out_rho_needs_data_with_differences():
    with raises(ValueError, "leave-one-out", "fit_kernel"):
        Hamming("leave-one-out")(["01", "11"])
    with raises(ValueError, 3, "Hamming(rho=0.5)"):
        fit_kernel(Hamming("leave-one-out"), ["01", "01", "01"])
    with raises(ValueError, "silverman", "leave-one-out"):
        fit_kernel(Hamming("silverman"), ["01", "11"])


def test_hamming_rejects_strings_of_different_lengths():
    with raises(ValueError, 2, 3, "Categorical", "NGram"):
        Hamming()(["010", "01"])
    with raises(ValueError, 0):
        Hamming()(["", ""])
    with raises(ValueError, 3, 2):
        Hamming()(["010", "011"], ["01", "11"])


@pytest.mark.parametrize("missing_value", [None, np.nan])
@pytest.mark.parametrize("kernel", [Hamming(), Categorical(), Categorical(order=("a", "b"))])
def test_categories_reject_missing_values(kernel, missing_value):
    with raises(ValueError, "missing", "On(column, kernel)"):
        kernel(np.array([["a"], [missing_value], ["b"]], dtype=object))


@pytest.mark.parametrize("kernel", [Hamming(), Categorical(), Categorical(order=("a",))])
def test_categories_reject_unhashable_objects(kernel):
    cells = np.empty(2, dtype=object)
    cells[:] = [["a"], {"b": 1}]
    with raises(TypeError, "hashable"):
        kernel(cells)


# --- categories --------------------------------------------------------------------------------


def test_unordered_categories():
    X, Y = ["red", "blue", "red", "green"], ["blue", "violet"]
    expected = naive(lambda x, y: 1 if x == y else 0.2, X, Y)
    assert_array_equal(Categorical(0.2)(X, Y), expected)
    check_kernel(Categorical(0.2), X, [*Y, "red"])
    pairs = np.empty(3, dtype=object)  # a tuple can be a label too
    pairs[:] = [(1, 2), (1, 3), (1, 2)]
    assert_array_equal(Categorical(0.2)(pairs)[0], [1, 0.2, 1])


def test_several_columns_multiply():
    X = [("a", 1), ("a", 2), ("b", 2)]
    assert_allclose(Categorical(0.2)(X), Hamming(0.2)(X), rtol=1e-15)
    order = ("low", "middle", "high")
    X = np.array(list(product(order, order)), dtype=object)
    expected = Categorical(0.4, order)(X[:, 0]) * Categorical(0.4, order)(X[:, 1])
    assert_allclose(Categorical(0.4, order)(X), expected, rtol=1e-13)


def test_ordered_categories_are_a_laplacian_on_ranks():
    order = ("low", "middle", "high", "top")
    X, Y = ["high", "low", "top", "high"], ["middle", "low", "top"]
    expected = naive(lambda x, y: 0.3 ** abs(order.index(x) - order.index(y)), X, Y)
    assert_allclose(Categorical(0.3, order)(X, Y), expected, rtol=1e-14)
    check_kernel(Categorical(0.3, order), X, Y)


def test_unknown_categories_differ_from_all_others():
    order = ("low", "middle", "high")
    K = Categorical(0.3, order)(["low", "???", "high", "!!!", "???"], ["low", "???", "!!!"])
    far = 0.3**2  # the largest difference of ranks
    expected = [[1, far, far], [far, 1, far], [far, far, far], [far, far, 1], [far, 1, far]]
    assert_allclose(K, expected, rtol=1e-14)
    assert_array_equal(Categorical(0.3)(["a"], ["b", "a"]), [[0.3, 1.0]])


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from([*"abcdefg", "?", "!", "#"]), min_size=2, max_size=12),
    st.floats(0.01, 1.0),
    st.integers(1, 7),
)
def test_ordered_categories_with_unknown_ones_are_positive_semidefinite(X, rho, known):
    K = Categorical(rho, "abcdefg"[:known])(X)
    assert smallest_eigenvalue(K) >= -1e-12 * len(X)


def test_order_must_list_every_category_once():
    for order in ((), ("a", "b", "a")):
        with raises(ValueError, f"order={order!r}"):
            Categorical(0.5, order)(["a"])


# --- n-grams -----------------------------------------------------------------------------------


def grams(text, n):
    """Count n-grams naively."""
    found = Counter()
    for length in n if isinstance(n, tuple) else (n,):
        for start in range(len(text)):
            gram = text[start : start + length]
            if len(gram) == length:
                found[gram] += 1
    return found


def common_grams(x, y, n):
    a, b = grams(x, n), grams(y, n)
    return sum(a[gram] * b[gram] for gram in a)


@pytest.mark.parametrize("n", [1, 2, 3, 7, (1, 2), (2, 3, 5)])
def test_ngrams_equal_a_naive_count(n):
    expected = naive(lambda x, y: common_grams(x, y, n), TEXTS, NEW)
    assert_array_equal(NGram(n)(TEXTS, NEW), expected)
    assert_array_equal(NGram(n)(TEXTS).diagonal(), [common_grams(x, x, n) for x in TEXTS])
    check_kernel(NGram(n), TEXTS, NEW)
    check_kernel(NGram(n, normalize=True), TEXTS, NEW)
    check_kernel(NGram(n, normalize=True, rho=0.3), TEXTS, NEW)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text("ab \n", max_size=8), min_size=1, max_size=8), st.integers(1, 4))
def test_ngrams_of_any_text_equal_a_naive_count(texts, n):
    expected = naive(lambda x, y: common_grams(x, y, n), texts, texts)
    assert_array_equal(NGram(n)(texts), expected)
    assert smallest_eigenvalue(NGram(n, normalize=True)(texts)) >= -1e-12 * len(texts)


def test_normalized_ngrams_are_cosines():
    def cosine(x, y):
        if not grams(x, 2) or not grams(y, 2):
            return x == y
        return common_grams(x, y, 2) / sqrt(common_grams(x, x, 2) * common_grams(y, y, 2))

    expected = naive(cosine, TEXTS, NEW)
    assert_allclose(NGram(2, normalize=True)(TEXTS, NEW), expected, rtol=1e-14)
    mixed = NGram(2, normalize=True, rho=0.25)(TEXTS, NEW)
    assert_allclose(mixed, 0.25 + 0.75 * expected, rtol=1e-14)
    assert_array_equal(NGram(2, normalize=True).diagonal(TEXTS), np.ones(len(TEXTS)))


def test_strings_without_ngrams():
    K = NGram(3)(["", "ab", "abc"])
    assert_array_equal(K, [[0, 0, 0], [0, 0, 0], [0, 0, 1]])
    normalized = NGram(3, normalize=True)(["", "ab", "abc", "", "xy"], ["", "ab"])
    assert_array_equal(normalized, [[1, 0], [0, 1], [0, 0], [1, 0], [0, 0]])
    assert_array_equal(NGram(3)(["", ""]), np.zeros((2, 2)))


def test_tokens_are_compared_like_characters():
    texts = ["to be or not to be", "not to be", "or"]
    split = [text.split() for text in texts]
    expected = naive(lambda x, y: common_grams(tuple(x), tuple(y), 2), split, split)
    assert_array_equal(NGram(2)(split), expected)
    assert expected[0, 1] == 3  # "not to" once, "to be" twice


@pytest.mark.parametrize("item", [None, 3, float("nan"), {"a"}])
def test_ngram_rejects_non_strings(item):
    with raises(TypeError, "NGram", type(item).__name__):
        NGram()(["abc", item])


def test_parameters_of_ngrams_are_checked():
    for n in (0, (), (2, 2), (1, 0)):
        with raises(ValueError, f"NGram(n={n!r})"):
            NGram(n)(["abc"])
    with raises(ValueError, "rho=1.0", "[0, 1)"):
        NGram(rho=1.0)(["abc"])
    with raises(ValueError, 2, "On(column, kernel)"):
        NGram()(np.array([["a", "b"]]))


# --- sets --------------------------------------------------------------------------------------

SETS = [{1, 2, 3}, {2, 3}, set(), {7}, {1, 2, 3, 4, 7}, set(), {"a", 2}]


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 1


def minmax(x, y):
    top = sum(max(a, b) for a, b in zip(x, y, strict=True))
    return sum(min(a, b) for a, b in zip(x, y, strict=True)) / top if top else 1


def test_jaccard_of_sets_and_of_indicators():
    expected = naive(jaccard, SETS, SETS[:4])
    assert_allclose(Jaccard()(SETS, SETS[:4]), expected, rtol=1e-15)
    assert_allclose(Jaccard()([list(s) * 2 for s in SETS], SETS[:4]), expected, rtol=1e-15)
    items = sorted(set().union(*SETS), key=str)
    indicators = np.array([[item in s for item in items] for s in SETS])
    for form in (indicators, indicators.astype(int), indicators * 2.5):
        assert_allclose(Jaccard()(form, form[:4]), expected, rtol=1e-15)
    check_kernel(Jaccard(), SETS, SETS[2:5])
    check_kernel(Jaccard(), indicators)
    assert_array_equal(MinMax()(SETS), Jaccard()(SETS))


def test_minmax_of_vectors_and_of_bags():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(9, 5)) * (rng.random((9, 5)) < 0.6)
    X[4] = X[6] = 0
    expected = naive(minmax, X, X[:7])
    assert_allclose(MinMax()(X, X[:7]), expected, rtol=1e-13)
    assert_allclose(MinMax()(X.tolist(), X[:7]), expected, rtol=1e-13)
    bags = [{str(j): v for j, v in enumerate(row) if v or j == 2} for row in X]
    assert_allclose(MinMax()(bags, bags[:7]), expected, rtol=1e-13)
    assert_array_equal(MinMax()([Counter("aab"), Counter("ab")]), [[1, 2 / 3], [2 / 3, 1]])
    check_kernel(MinMax(), X)
    check_kernel(MinMax(), bags, bags[:5])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=2, max_size=8))
def test_overlaps_are_positive_semidefinite(rows):
    X = np.array(rows)
    assert_allclose(MinMax()(X), naive(minmax, X, X), rtol=1e-14)
    assert smallest_eigenvalue(MinMax()(X)) >= -1e-12 * len(X)
    assert smallest_eigenvalue(Jaccard()(X)) >= -1e-12 * len(X)


def test_set_kernels_reject_invalid_data():
    with raises(ValueError, 0, -1, 2):
        MinMax()([[1.0, -1.0], [2.0, 0.0]])
    with raises(ValueError, 0, -1.0):
        MinMax()([{"a": -1.0}])
    with raises(ValueError, "missing", "On("):
        MinMax()([[1.0, np.nan]])
    with raises(TypeError, "str", "set(string)"):
        Jaccard()(["abc", "abd"])
    with raises(TypeError, "hashable"):
        Jaccard()([[[1], [2]], [[3]]])
    with raises(TypeError, "MinMax", "abc"):
        MinMax()(["abc"])
    for kernel in (Jaccard(), MinMax()):
        with raises(ValueError, 3, 2):
            kernel(np.ones((4, 3)), np.ones((4, 2)))


# --- graphs ------------------------------------------------------------------------------------


def naive_subtrees(edges, labels, iterations):
    """Count nested labels, written out as strings."""
    neighbors = {v: set() for v in labels}
    for a, b in edges:
        neighbors[a].add(b)
        neighbors[b].add(a)
    found, current = Counter(), {v: repr(label) for v, label in labels.items()}
    for turn in range(iterations + 1):
        found.update((turn, text) for text in current.values())
        current = {v: f"({current[v]}:{sorted(current[u] for u in neighbors[v])})" for v in labels}
    return found


def random_graph(rng, n):
    adjacency = np.triu(rng.random((n, n)) < 0.4, 1)
    labels = rng.choice(list("CNO"), n).tolist()
    return adjacency | adjacency.T, labels


GRAPHS = [random_graph(np.random.default_rng(i), n) for i, n in enumerate([5, 6, 1, 7, 5, 3, 8])]


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("normalize", [False, True])
def test_graphs_equal_a_naive_count_of_subtrees(iterations, normalize):
    counts = [
        naive_subtrees(zip(*adjacency.nonzero(), strict=True), dict(enumerate(labels)), iterations)
        for adjacency, labels in GRAPHS
    ]
    expected = naive(lambda a, b: sum(a[key] * b[key] for key in a), counts, counts)
    if normalize:
        lengths = np.sqrt(expected.diagonal())
        expected = expected / np.outer(lengths, lengths)
    kernel = Graph(iterations, normalize)
    assert_allclose(kernel(GRAPHS), expected, rtol=1e-14)
    assert_allclose(kernel(GRAPHS[:3], GRAPHS), expected[:3], rtol=1e-14)
    check_kernel(kernel, GRAPHS, GRAPHS[:4])


class NetworkX:
    """The methods of a networkx graph that the kernel uses."""

    def __init__(self, edges, labels):
        self._edges, self._labels = edges, labels

    def nodes(self, data):
        assert data == "element"
        return self._labels.items()

    def edges(self):
        return self._edges


def test_graph_input_formats():
    kernel = Graph(2, label="element")
    for adjacency, labels in GRAPHS:
        pairs = [(int(i), int(j)) for i, j in zip(*adjacency.nonzero(), strict=True) if i < j]
        named = {f"n{i}": label for i, label in enumerate(labels)}
        edges = [(f"n{j}", f"n{i}") for i, j in pairs]
        forms = [
            (adjacency, labels),
            (adjacency * 2.5, "".join(labels)),
            (csr_array(adjacency), np.array(labels)),
            (pairs, labels),
            (pairs + pairs[:1], labels),
            (edges, named),
            (adjacency, named),
            NetworkX(edges, named),
        ]
        if len(labels) > 2:
            forms.append((adjacency.astype(int).tolist(), labels))
        K = kernel(forms)
        assert_array_equal(K, np.full_like(K, K[0, 0]))


def test_graphs_without_labels():
    triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
    assert_array_equal(Graph(0)([triangle, path]), [[9, 9], [9, 9]])
    # degrees in iteration 1: three of 2, against one of 2 and two of 1
    assert_array_equal(Graph(1)([triangle, path]), [[18, 12], [12, 14]])
    adjacency = 1 - np.eye(3)
    assert_array_equal(Graph(3)([triangle], [adjacency]), Graph(3)([triangle]))


def test_isomorphic_graphs_have_equal_kernel_values():
    adjacency, labels = GRAPHS[3]
    order = np.random.default_rng(0).permutation(len(labels))
    other = adjacency[np.ix_(order, order)], [labels[i] for i in order]
    K = Graph(4)([GRAPHS[3], other])
    assert_array_equal(K, np.full((2, 2), K[0, 0]))


def test_empty_graphs():
    empty = [np.zeros((0, 0)), [], ([], []), ([], {})]
    graphs = [*empty, GRAPHS[0]]
    K = Graph(2)(graphs)
    assert_array_equal(K[:4], np.zeros((4, 5)))
    normalized = Graph(2, normalize=True)(graphs)
    expected = np.zeros((5, 5))
    expected[:4, :4] = expected[4, 4] = 1
    assert_allclose(normalized, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("graph", "error", "values"),
    [
        ((np.eye(3), "ab"), ValueError, (3, 2)),
        (([(0, 5)], "ab"), ValueError, ("(0, 5)",)),
        (([("a", "b")], {"a": 1}), ValueError, ("('a', 'b')",)),
        ("abc", TypeError, ("Graph", "abc")),
        (7, TypeError, ("Graph", 7)),
        (([(0, 1)], [["unhashable"], "b"]), TypeError, ("hashable",)),
    ],
)
def test_graph_rejects_other_objects(graph, error, values):
    with raises(error, *values):
        Graph()([graph])


def test_iterations_are_checked():
    with raises(ValueError, "Graph(iterations=-1)"):
        Graph(-1)(GRAPHS)


# --- all kernels on objects --------------------------------------------------------------------

ALL = [
    (Hamming(0.4), ["0110", "0101", "1111", "0000"]),
    (Categorical(0.4), ["a", "b", "a", "c"]),
    (Categorical(0.4, ("a", "b", "c")), ["a", "b", "a", "c"]),
    (NGram(2), TEXTS),
    (NGram(2, True, 0.1), TEXTS),
    (Jaccard(), SETS),
    (MinMax(), np.abs(np.random.default_rng(0).normal(size=(6, 3)))),
    (Graph(2), GRAPHS),
]


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=[repr(kernel) for kernel, _ in ALL])
def test_algebra_and_parameters_of_kernels_on_objects(kernel, X):
    K = kernel(X)
    tree = 2.0 * kernel + kernel * kernel
    assert_allclose(tree(X), 2 * K + K**2, rtol=1e-13)
    check_kernel(tree, X)
    assert not kernel.is_density
    with raises(ValueError, repr(kernel), "Gaussian"):
        kernel.normalizer(3)
    with raises(ValueError, "objects", "vectors"):
        (kernel * Gaussian(1.0)).compares  # noqa: B018
    names = set(kernel.get_params())
    assert {f"0__kernel__{name}" for name in names} <= set(tree.get_params())


def test_unknown_category_has_the_maximal_distance():
    """In both arguments, from known and other unknown categories, but not from itself."""
    kernel = Categorical(0.5, ("a", "b", "c"))
    assert_array_equal(kernel(["a", "b", "c"], ["b", "x"]), [[0.5, 0.25], [1, 0.25], [0.5, 0.25]])
    assert_array_equal(kernel(["b", "x"], ["a", "b", "c"]), [[0.5, 1, 0.5], [0.25] * 3])
    assert_array_equal(kernel(["x"], ["a", "b", "c"]), [[0.25] * 3])
    assert_array_equal(kernel(["x", "y"]), [[1, 0.25], [0.25, 1]])
    assert_array_equal(Categorical(0.5, ("a",))(["a", "x"]), [[1, 0.5], [0.5, 1]])


@pytest.mark.parametrize("kernel", [MinMax(), Jaccard()], ids=repr)
@pytest.mark.parametrize("wrong", [-1e-9, np.inf])
def test_rows_need_finite_numbers_of_at_least_0(kernel, wrong):
    X = np.array([[0.5, 1.0], [2.0, 0.0]])
    assert kernel(X).shape == (2, 2)
    X[1, 1] = wrong
    with raises(ValueError, type(kernel).__name__, wrong, 0):
        kernel(X)


def test_rows_of_one_label_in_lists_and_arrays_are_labels():
    """Only plain strings are compared character by character."""
    rows = [["ab"], ["cd"], ["ab"]]
    labels = [[1, 0.5, 1], [0.5, 1, 0.5], [1, 0.5, 1]]
    for table in (rows, [tuple(row) for row in rows], np.array(rows), np.array(rows, dtype=object)):
        assert_array_equal(Hamming(0.5)(table), labels)
    for strings in (["ab", "cd"], ("ab", "cd"), np.array(["ab", "cd"])):
        assert_array_equal(Hamming(0.5)(strings), [[1, 0.25], [0.25, 1]])


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0, 0)], [(0, 1), (0,)], [(0, 1, 1)], [(0,)] * 2])
def test_edges_must_be_pairs(edges):
    with raises(ValueError, "edge"):
        Graph()([(edges, "abc")])


def test_nodes_may_have_different_types():
    odd = [("root", (0, 1)), ((0, 1), "leaf")], {"root": "C", (0, 1): "C", "leaf": "O"}
    assert_array_equal(Graph()([odd, ([(0, 1), (1, 2)], "CCO")]), Graph()([odd, odd]))
