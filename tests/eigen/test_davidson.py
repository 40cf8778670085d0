"""The block Davidson solver agrees with full decompositions within its bounds."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelECA, KernelPCA, config_context, load, save
from mercer.data.points import Points
from mercer.eigen.block_basis import BlockBasis
from mercer.eigen.complement_norm import ComplementNorm, ProductCheck
from mercer.eigen.decompose import decompose
from mercer.errors import ApproximationWarning, ConvergenceError, RankError, suppress_warnings
from mercer.gram import Sample
from mercer.gram.mixed_precision import MixedPrecisionGram
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Linear, Matern, Neighbors, NGram
from mercer.solvers import Davidson, Nystrom, as_solver
from tests.expectations import raises, warns

SMALL = Davidson(n_landmarks=60, block_size=12)


def clusters(rng, n, d, count=4):
    centers = rng.normal(0, 1.5, (count, d))
    return centers[rng.integers(0, count, n)] + rng.normal(0, 0.4, (n, d))


def random_sample(seed):
    """Clusters, mirrored clusters (nearly multiple eigenvalues) or one cloud; weights or none."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(130, 260)), int(rng.integers(1, 9))
    kind = seed % 3
    X = rng.normal(size=(n, d)) if kind == 0 else clusters(rng, n, d)
    if kind == 2:
        half = X[: n // 2] + 3
        X = np.vstack([half, -half + rng.normal(0, 10.0 ** rng.uniform(-9, -2), half.shape)])
    weights = rng.uniform(0.2, 3, len(X)) if rng.random() < 0.4 else None
    bandwidth = float(np.sqrt(d) * rng.uniform(0.8, 4))
    kernels = (Gaussian, Gaussian, Matern, Laplacian)
    kernel = kernels[int(rng.integers(4))](bandwidth)
    X = X.astype(np.float32) if rng.random() < 0.3 else X
    return Sample.of(kernel, Points(X), weights)


def exact_pairs(sample, center):
    """Eigenvalues, eigenvectors and entropy terms by a full decomposition in float64."""
    root = np.sqrt(np.ones(sample.points.n) if sample.weights is None else sample.weights)
    A = root[:, None] * sample.kernel(sample.points.data.astype(np.float64)) * root
    if center:
        unit = root / np.linalg.norm(root)
        P = np.eye(len(A)) - np.outer(unit, unit)
        A = P @ A @ P
    values, E = np.linalg.eigh(A)
    values, E = values[::-1], E[:, ::-1]
    return values, E, values * (root @ E) ** 2 / (root @ root) ** 2


def check_random_problem(seed):
    """Check all claims about one problem; return what was claimed."""
    sample = random_sample(seed)
    target = ("variance", "entropy")[seed % 2]
    center = target == "variance" and seed % 4 == 0
    count = 1 + seed % 5
    values, E, terms = exact_pairs(sample, center)
    solver = Davidson(
        tol=(1e-6, 1e-9, 1e-3)[seed // 3 % 3], n_landmarks=50, block_size=14, max_passes=30
    )
    with suppress_warnings():
        found = decompose(sample, target, count, solver=solver, center=center)
    unit = sample.unit
    slack = 1e-13 * values[0]
    lower, upper = found.eigenvalue_bounds.T / unit
    for low, high in zip(lower, upper, strict=True):
        assert ((values >= low - slack) & (values <= high + slack)).any()
    if found.known_ranks is not None:
        own = values[found.known_ranks - 1]
        assert (own >= lower - slack).all()
        assert (own <= upper + slack).all()
    assert found.residuals.max() <= solver.tol * found.eigenvalues.max() * (1 + 1e-9)
    vectors = found.eigenvectors / np.sqrt(np.einsum("ij,ij->j", *[found.eigenvectors] * 2))
    for i in np.flatnonzero(np.isfinite(found.angle_bounds)):
        e = E[:, np.argmin(np.abs(values - found.eigenvalues[i] / unit))]
        sine = np.linalg.norm(vectors[:, i] - e * (e @ vectors[:, i]))
        assert sine <= found.angle_bounds[i] + 1e-10
    if found.certified:
        order = np.argsort(-(values if target == "variance" else terms), kind="stable")
        best = set(order[:count].tolist())
        assert set((found.known_ranks - 1).tolist()) == best
    if not center:
        assert_allclose(found.potential, terms.sum(), rtol=1e-11)
    assert_allclose(found.trace, unit * values.sum(), rtol=1e-10)
    return found.certified, int(np.isfinite(found.angle_bounds).sum())


def test_claims_hold_for_random_problems():
    claims = [check_random_problem(seed) for seed in range(24)]
    assert sum(certified for certified, _ in claims) >= 8
    assert sum(angles for _, angles in claims) >= 20


def test_vectors_in_float32_reach_small_tolerances_if_k_is_centered():
    check_random_problem(112)  # rounding adds a component along the vector of ones


@pytest.mark.slow
def test_claims_hold_for_many_random_problems():
    claims = [check_random_problem(seed) for seed in range(24, 224)]
    assert sum(certified for certified, _ in claims) >= 70


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agrees_with_a_full_decomposition(estimator, dtype):
    X = clusters(np.random.default_rng(1), 600, 12, 6).astype(dtype)
    found = estimator(4, solver=Davidson(n_landmarks=150)).fit(X)
    full = estimator(4, kernel=found.kernel_, solver="dense").fit(X.astype(np.float64))
    assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=1e-10)
    assert_allclose(found.transform(X[:50]), full.transform(X[:50]), atol=1e-4)
    assert_allclose(found.spectrum_.potential, full.spectrum_.potential, rtol=1e-12)
    assert_allclose(found.spectrum_.trace, full.spectrum_.trace, rtol=1e-12)
    assert found.spectrum_.certified
    assert found.spectrum_.passes == 2
    assert "2 passes" in found.spectrum_.method


def test_passes_evaluate_every_pair_once():
    calls = []

    class Counted(Gaussian):
        def profile(self, h):
            calls.append(h.size)
            return super().profile(h)

    X = clusters(np.random.default_rng(2), 700, 5)
    sample = Sample(Counted(3.0), Points(X))
    gram = Davidson(n_landmarks=50).gram(sample)
    assert isinstance(gram, MixedPrecisionGram)
    _ = gram.landmarks.moments
    V = np.random.default_rng(0).normal(size=(700, 3))
    K = Gaussian(3.0)(X)
    for product, tolerance in ((gram.single_product, 1e-4), (gram.product, 1e-11)):
        calls.clear()
        assert_allclose(product(V), K @ V, atol=tolerance)
        assert sum(calls) < 0.75 * 700**2  # half of the pairs, and all of the diagonal tiles
    assert gram.passes == 2
    assert_allclose(gram.squared_norm, (K * K).sum(), rtol=1e-12)
    assert_allclose(gram.start_product, K.sum(axis=1), rtol=1e-12)


def test_sums_of_a_pass_do_not_depend_on_threads():
    X = clusters(np.random.default_rng(2), 900, 5)
    V = np.random.default_rng(0).normal(size=(900, 3)).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        with config_context(threads=threads):
            gram = Davidson(n_landmarks=50).gram(Sample(Gaussian(3.0), Points(X)))
            found.append((gram.product(V), gram.single_product(V), gram.squared_norm))
    for product, single, norm in found[1:]:
        assert_array_equal(product, found[0][0])
        assert_array_equal(single, found[0][1])
        assert norm == found[0][2]


def test_products_of_blocks_of_columns_are_those_of_one_array():
    X = clusters(np.random.default_rng(2), 700, 5)
    V = np.random.default_rng(0).normal(size=(700, 5))
    gram = Davidson(n_landmarks=50).gram(Sample(Gaussian(3.0), Points(X)))
    exact = Gaussian(3.0)(X) @ V
    for product, dtype in ((gram.single_product, np.float32), (gram.product, np.float64)):
        found = product(V[:, :2].astype(np.float32), V[:, 2:])
        assert found.dtype == dtype
        assert_allclose(found, product(V), atol=2e-6 * np.abs(exact).max())


def test_float32_sums_over_blocks_are_accurate():
    """Sixteen blocks of several tiles: the error is that of rounding a few large terms."""
    X = clusters(np.random.default_rng(2), 5000, 5)
    V = np.ones((5000, 1)) / np.sqrt(5000)  # all terms of a sum are positive
    gram = Davidson(n_landmarks=50).gram(Sample(Gaussian(3.0), Points(X)))
    exact = gram.product(V)
    error = np.linalg.norm(gram.single_product(V) - exact)
    assert error < 2e-7 * np.linalg.norm(exact)


def test_memory_of_a_float32_pass_is_below_that_of_sums_in_float64():
    rng = np.random.default_rng(2)
    V = rng.normal(size=(6000, 200)).astype(np.float32)
    gram = Davidson(n_landmarks=20).gram(Sample(Gaussian(3.0), Points(clusters(rng, 6000, 3))))
    gram.has_single  # noqa: B018 (cached)
    tracemalloc.start()
    try:
        with config_context(threads=1):
            gram.single_product(V)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * V.nbytes


def test_group_replaces_the_basis_in_its_memory():
    """5000 rows are several chunks; a third block is not part of the memory that is reused."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(5000, 9)))[0]
    AQ = rng.normal(size=(5000, 9))
    found = []
    for threads in (1, 3):
        with config_context(threads=threads):
            basis = BlockBasis(Q[:, :6].copy(), AQ[:, :6].copy())
            basis.append(Q[:, 6:], AQ[:, 6:])
            ritz = basis.ritz()
            chosen = np.array([0, 3, 7, 8])
            vectors, products = ritz.vectors(chosen, Q.dtype), ritz.products(chosen)
            first = basis.blocks[0]
            Z, AZ = ritz.replace_basis(chosen)
            assert_array_equal(Z, vectors)
            assert_array_equal(AZ, products)
            assert np.shares_memory(Z, first[0])
            assert np.shares_memory(AZ, first[1])
            found.append((ritz.values, ritz.squares, vectors))
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)
    H = Q.T @ AQ
    assert_allclose(found[0][0], np.linalg.eigvalsh((H + H.T) / 2)[::-1], atol=1e-12)


@pytest.mark.parametrize(("n", "count"), [(900, 900), (1500, 1000)])
def test_default_number_of_landmarks(n, count):
    X = np.random.default_rng(0).normal(size=(n, 30))
    gram = Davidson().gram(Sample(Gaussian(1.0), Points(X)))
    assert gram.landmarks.features.landmarks.n == count


@pytest.mark.parametrize("wide", [128, 64], ids=["float64", "float32"])
def test_group_of_close_eigenvalues_is_spanned_and_proven(wide, monkeypatch):
    """The sixth pair is the first of 90 close eigenvalues, one per column."""
    monkeypatch.setattr("mercer.eigen.davidson._WIDE", wide)
    X = clusters(np.random.default_rng(0), 1200, 90, 6)
    kernel = Gaussian(30.0)
    found = KernelPCA(6, kernel=kernel, solver=Davidson(n_landmarks=300)).fit(X).spectrum_
    values = np.linalg.eigvalsh(exact_matrix(kernel, X))[::-1]
    assert values[5] < 0.02 * values[4]
    assert values[40] > 0.6 * values[5]
    assert found.certified
    assert "random" in found.certificate
    assert found.passes <= 4
    lower, upper = found.eigenvalue_bounds.T
    assert (lower <= values[:6] * (1 + 1e-12)).all()
    assert (upper >= values[:6] * (1 - 1e-12)).all()
    assert_allclose(found.eigenvalues, values[:6], rtol=1e-6)
    assert (found.angle_bounds < 0.1).all()


def test_complement_norm_bounds_what_is_not_found():
    rng = np.random.default_rng(0)
    n, found = 500, 20
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.r_[np.linspace(9, 5, found), np.full(n - found, 1.0)]
    A = (U * values) @ U.T
    Q = np.linalg.qr(U[:, :found] + 0.001 * rng.normal(size=(n, found)))[0].astype(np.float32)
    Q, AQ = Q.astype(np.float64), A @ Q.astype(np.float64)
    complement = ComplementNorm(n, None)
    complement.set_product((A @ complement.G).astype(np.float32))
    basis = BlockBasis(Q, AQ)
    complement.remove(basis.ritz(), np.arange(found))
    AG, AH = A @ complement.G, A @ complement.H
    bound = complement.bound(basis, AG, AH, 1e-12)
    P = np.eye(n) - Q @ np.linalg.solve(Q.T @ Q, Q.T)
    norm = np.linalg.norm(P @ A @ P, 2)
    frobenius = np.linalg.norm(P @ A @ P)
    assert norm <= bound < 0.25 * frobenius
    # a wrong product in float32 enlarges the bound, because its error is computed
    complement.H += 5 * rng.normal(size=complement.H.shape).astype(np.float32)
    assert complement.bound(basis, AG, A @ complement.H, 1e-12) > 2 * bound


def test_error_of_a_product_is_bounded_by_random_combinations():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 200))
    X = np.linalg.qr(rng.normal(size=(200, 90)))[0].astype(np.float32)
    for error in (1e-4 * rng.normal(size=(200, 90)), np.outer(rng.normal(size=200), X[0])):
        B = (A @ X + error).astype(np.float32)
        check = ProductCheck(X, B)
        true = np.linalg.norm(A @ X.astype(np.float64) - B, 2)
        bound = check.bound(A @ check.vectors, 1e-14)
        assert true <= bound < 20 * true


def test_potential_is_that_of_the_landmarks_before_the_first_pass():
    X = clusters(np.random.default_rng(2), 400, 5)
    gram = Davidson(n_landmarks=200).gram(Sample(Gaussian(5.0), Points(X)))
    K = Gaussian(5.0)(X)
    assert_allclose(gram.potential, K.mean(), rtol=1e-4)
    assert_allclose(gram.start_product, K.sum(axis=1), rtol=1e-3)
    assert gram.passes == 0
    _ = gram.product(np.ones((400, 1)))
    assert_allclose(gram.potential, K.mean(), rtol=1e-13)


def test_weights_equal_copies():
    X = clusters(np.random.default_rng(3), 150, 4)
    counts = np.random.default_rng(0).integers(1, 4, 150)
    weighted = KernelECA(3, kernel=Gaussian(3.0), solver=SMALL).fit(X, sample_weight=counts)
    copied = KernelECA(3, kernel=Gaussian(3.0), solver=SMALL).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.eigenvalues_, copied.eigenvalues_, rtol=1e-10)
    assert_allclose(weighted.entropy_terms_, copied.entropy_terms_, rtol=1e-6)


def test_points_far_from_the_origin_use_float64():
    X = np.random.default_rng(0).normal(size=(300, 3))
    far = np.vstack([X, X[:5] + 1e3])
    gram = SMALL.gram(Sample(Gaussian(1.0), Points(far)))
    assert not gram.has_single
    assert SMALL.gram(Sample(Gaussian(1.0), Points(X + 1e3))).has_single
    found = KernelPCA(3, kernel=Gaussian(1.0), solver=SMALL).fit(far)
    full = KernelPCA(3, kernel=Gaussian(1.0), solver="dense").fit(far)
    assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=1e-9)


def test_kernels_on_objects():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), 9)) for _ in range(150)]
    found = KernelECA(2, kernel=NGram(2), solver=SMALL).fit(texts)
    full = KernelECA(2, kernel=NGram(2), solver="dense").fit(texts)
    assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_fractions(estimator):
    X = clusters(np.random.default_rng(5), 300, 5)
    found = estimator(0.9, kernel=Gaussian(4.0), solver=SMALL).fit(X)
    full = estimator(0.9, kernel=Gaussian(4.0), solver="dense").fit(X)
    assert found.n_components_ == full.n_components_
    assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=1e-9)


def test_rank_of_the_kernel_matrix_limits_the_components():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 30, axis=0)
    assert len(KernelPCA(4, kernel=Gaussian(2.0), solver=SMALL).fit(X).eigenvalues_) == 4
    with raises(RankError, 6):
        KernelPCA(6, kernel=Gaussian(2.0), solver=SMALL).fit(X)


def test_more_components_than_landmarks_raise():
    X = np.random.default_rng(0).normal(size=(200, 6))
    with raises(ValueError, 40, 30, "n_landmarks"):
        KernelPCA(40, kernel=Gaussian(0.5), solver=Davidson(n_landmarks=30)).fit(X)


def test_limit_on_passes_raises_with_the_pairs_found():
    X = np.random.default_rng(0).normal(size=(400, 6))
    solver = Davidson(tol=1e-9, n_landmarks=20, block_size=6, max_passes=2)
    with raises(ConvergenceError, "max_passes", 1e-9) as raised:
        KernelPCA(5, kernel=Gaussian(0.8), solver=solver).fit(X)
    pairs = raised.value.pairs
    assert len(pairs.values) == 5
    assert not pairs.converged
    exact = np.linalg.eigvalsh(exact_matrix(Gaussian(0.8), X))
    for low, high in pairs.value_bounds:
        assert ((exact >= low) & (exact <= high)).any()


def exact_matrix(kernel, X):
    K = kernel(X)
    P = np.eye(len(K)) - 1 / len(K)
    return P @ K @ P


@pytest.mark.parametrize(
    ("kernel", "problem"),
    [(Epanechnikov(2.0), "positive semi-definite"), (Neighbors(5), "sparse")],
    ids=["indefinite", "sparse"],
)
def test_kernels_that_are_not_supported_raise(kernel, problem):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with raises(ValueError, problem, "lanczos"):
        KernelPCA(2, kernel=kernel, solver="davidson").fit(X)


def test_requests_that_are_not_supported_raise():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with raises(ValueError, "precomputed", "lanczos"):
        KernelPCA(2, kernel="precomputed", solver="davidson").fit(Gaussian(1.0)(X))
    with raises(ValueError, "n_components=None", "dense"):
        KernelPCA(None, solver="davidson").fit(X)
    sample = Sample(Gaussian(1.0), Points(X))
    with raises(ValueError, "normalized", "lanczos"):
        decompose(sample, "variance", 2, solver="davidson", normalize=True)
    for settings in ({"tol": 0.0}, {"tol": 1.0}, {"n_landmarks": 0}, {"max_passes": 0}):
        (name, value), *_ = settings.items()
        with raises(ValueError, name, value):
            KernelPCA(2, solver=Davidson(**settings)).fit(X)


def test_name_and_persistence(tmp_path):
    assert as_solver("davidson") == Davidson()
    X = clusters(np.random.default_rng(1), 200, 4)
    pca = KernelPCA(2, kernel=Gaussian(3.0), solver=SMALL).fit(X)
    save(pca, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.solver == SMALL
    assert_allclose(again.spectrum_.residuals, pca.spectrum_.residuals)
    assert_allclose(again.spectrum_.eigenvalue_bounds, pca.spectrum_.eigenvalue_bounds)
    assert again.spectrum_.passes == pca.spectrum_.passes


def test_results_do_not_depend_on_threads():
    X = clusters(np.random.default_rng(1), 900, 6)
    found = []
    for threads in (1, 2):
        with config_context(threads=threads):
            found.append(KernelPCA(3, kernel=Gaussian(3.0), solver=SMALL).fit(X))
    assert_allclose(found[0].eigenvalues_, found[1].eigenvalues_, rtol=1e-12)


def test_landmark_warning_names_the_exact_solver():
    X = np.random.default_rng(0).normal(size=(400, 6))
    with warns(ApproximationWarning, "davidson"):
        KernelPCA(3, kernel=Gaussian(1.0), solver=Nystrom(10)).fit(X)


def test_linear_kernel_of_low_rank():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = KernelPCA(3, kernel=Linear(), solver=SMALL).fit(X)
    full = KernelPCA(3, kernel=Linear(), solver="dense").fit(X)
    assert_allclose(found.eigenvalues_, full.eigenvalues_, rtol=1e-9)


def test_progress_reports_passes(capsys):
    X = clusters(np.random.default_rng(1), 200, 4)
    KernelPCA(2, kernel=Gaussian(3.0), solver=SMALL, verbose=True).fit(X)
    assert "passes" in capsys.readouterr().err
