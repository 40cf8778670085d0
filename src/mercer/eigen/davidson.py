"""Leading and entropy components of large samples in few passes over the pairs of points.

A pass evaluates every kernel value once and multiplies a whole block, so passes are what costs.
The iteration starts at the leading eigenvectors of a landmark approximation ``UΛU'`` of K and
extends the basis by ``(UΛU' - θ)⁻¹ r`` for every residual r (block Davidson method). The residual
shrinks per pass by about ``‖K - UΛU'‖ / θ``, which is two to four digits for smooth kernels.

Passes are in float32 until the next correction is expected to reach the tolerance; float32 needs
no error bound, because a pass in float64 with the Ritz vectors and this correction follows, from
which all residuals and bounds are computed.

If the selected eigenvalues are at the edge of a group of many close ones, the first block spans the
whole group: an eigenvector at the edge is a combination of approximate ones of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.eigen.base import Eigenpairs, Selection
from mercer.eigen.block_basis import BlockBasis, Ritz, orthonormalized
from mercer.eigen.complement_norm import ComplementNorm, ProductCheck
from mercer.eigen.davidson_pairs import CertifiedPairs
from mercer.eigen.nystrom import landmark_gram
from mercer.errors import ConvergenceError
from mercer.gram import CenteredGram, EigenProblem, GramOperator, Sample
from mercer.gram.gram import GramProblem
from mercer.gram.landmark_spectrum import LandmarkSpectrum
from mercer.gram.mixed_precision import MixedPrecisionGram
from mercer.utils.centering import subtract_direction
from mercer.utils.eigenpairs import choose_components
from mercer.utils.pairwise import row_ranges
from mercer.utils.progress import report_status
from mercer.utils.resources import memory_budget, release_memory, single_threaded_blas
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["Davidson"]

_BLOCK_SIZE = 64  # one pass with 64 columns takes 1.3 to 2 times as long as with one
_LARGEST_BLOCK = 320  # if 64 vectors end inside a group of close eigenvalues
_SAME_GROUP = 0.5  # eigenvalues above this part of the smallest selected one
_END_OF_GROUP = 1.2  # ratio of eigenvalues at the end of a group
_WIDE = 128  # vectors, above which only the selected ones are multiplied in float64
_BUFFER = 4  # vectors after the end of a group
_NEIGHBORS = 16  # pairs that are corrected in addition to those selected
_MARGIN = 0.3  # of the tolerance that float32 residuals must reach
_SAFETY = 2.0  # factor of the expected residual
_SINGLE_FLOOR = 2e-7  # float32 residuals relative to ‖A‖ are rounding error below this
_SLOW = 0.5  # a pass must reduce the residual by this factor
_MAX_GROWTH = 192  # vectors that are added to the first block before a restart
_LANDMARKS = 1000, 2000  # smallest and largest default number
_LANDMARK_BYTES = 160_000_000  # for the choice of landmarks, from 10,000 rows if there are 2000
_LANDMARK_TOLERANCE = 1e-12  # missing fraction of the trace at which fewer landmarks are used
_CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Davidson:
    """Block Davidson iteration from landmarks, matrix-free, with proven bounds.

    For samples of 30,000 rows and more in many columns, where K cannot be stored and landmarks
    alone are not accurate enough. The kernel must be positive semi-definite.

    ``spectrum_.residuals``, ``spectrum_.eigenvalue_bounds`` and ``spectrum_.angle_bounds`` hold
    the bounds; ``spectrum_.certified`` is True if it is proven that no other eigenpair belongs to
    the selection, and ``spectrum_.passes`` is the number of passes over the pairs of points. The
    largest eigenvalue that is not found is bounded by the Frobenius norm, or, where that is too
    large, by products with random vectors: then bounds and certificate hold with probability
    1 - 1e-9, which ``spectrum_.certificate`` states.

    Parameters
    ----------
    tol : float
        Largest residual ``‖K e - λ e‖``, relative to the largest eigenvalue.
    n_landmarks : int or None
        Landmarks of the start and of the corrections; None for ``2000 (n / 50,000)^¼``, at least
        1000 and at most 2000. More landmarks save passes if the spectrum decays slowly; they cost
        ``n m²`` operations.
    block_size : int or None
        Number of Ritz vectors; None for 64, or twice the number of components if that is larger, or
        up to 320 if these end inside a group of close eigenvalues. More of them prove more.
    max_passes : int
        Largest number of passes.
    random_state : int or None
        Seed of the choice of landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Davidson
    >>> X = np.random.default_rng(0).normal(size=(1500, 6))
    >>> pca = KernelPCA(4, solver=Davidson(n_landmarks=300)).fit(X)
    >>> pca.spectrum_.passes, bool(pca.spectrum_.residuals.max() < 1e-6 * pca.eigenvalues_[0])
    (2, True)
    """

    tol: float = 1e-6
    n_landmarks: int | None = None
    block_size: int | None = None
    max_passes: int = 12
    random_state: int | None = 0

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Choose the landmarks and build the matrix-free operator."""
        if not 1e-12 <= self.tol <= 0.1:
            raise ValueError(f"Davidson(tol={self.tol!r}) must lie between 1e-12 and 1e-1.")
        check_integer(self.max_passes, "Davidson.max_passes")
        if self.block_size is not None:
            check_integer(self.block_size, "Davidson.block_size")
        if sample.points.is_chunked or sample.kernel.is_sparse:
            raise ValueError(
                "solver='davidson' needs rows in memory and a kernel that is not sparse. Use "
                "solver='lanczos', or 'nystrom' for Dask collections."
            )
        count = self.n_landmarks
        if count is None:
            count = round(np.clip(2000 * (sample.points.n / 50_000) ** 0.25, *_LANDMARKS))
        check_integer(count, "Davidson.n_landmarks")
        memory = min(_LANDMARK_BYTES, memory_budget() // 4)
        return MixedPrecisionGram(
            landmark_gram(sample, count, _LANDMARK_TOLERANCE, self.random_state, memory)
        )

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the requested pairs; raise ConvergenceError if the limit on passes is reached."""
        gram = problem.gram if isinstance(problem, GramProblem) else None
        base = gram.base if isinstance(gram, CenteredGram) else gram
        if gram is None or not isinstance(base, MixedPrecisionGram):
            raise ValueError(
                "solver='davidson' works with the Gram matrix of a kernel, not with a normalized "
                "or approximated one. Use solver='lanczos'."
            )
        if selection.n_components is None:
            raise ValueError(
                "solver='davidson' finds some components, not all (n_components=None). Pass a "
                "count or a fraction, or use solver='dense'."
            )
        search = _Search(self, problem, base, gram.is_centered, selection)
        with single_threaded_blas():  # work is divided among threads by rows
            return search.run()


class _Search(CertifiedPairs):
    """One run of the iteration."""

    def __init__(
        self,
        settings: Davidson,
        problem: EigenProblem,
        base: MixedPrecisionGram,
        center: bool,
        selection: Selection,
    ) -> None:
        super().__init__(problem, base, center, selection, settings.tol)
        self.settings = settings
        self.landmarks = LandmarkSpectrum(base, center)
        self.spread = 0.0  # the largest residual of the start: how far landmarks are from A
        self.complement: ComplementNorm | None = None

    # --- products ---------------------------------------------------------------------------

    def _multiply(self, single: bool, *blocks: Array) -> Array:
        """Return ``A V``, or ``P A P V`` with the projection P that centers, for V in blocks."""
        release_memory()
        W = (self.base.single_product if single else self.base.product)(*blocks)
        self.products += W.shape[1]
        if self.unit is None:
            return W
        if not single:  # V in float32 is orthogonal to the unit vector up to 1e-7 only
            ranges = row_ranges(len(W), _CHUNK_ROWS)
            parts = sum(
                self.unit[rows] @ np.hstack([block[rows] for block in blocks]) for rows in ranges
            )
            mean = self.base.start_product / np.sqrt(self.base.total)
            for rows in ranges:
                W[rows] -= mean[rows, None] * parts
        return subtract_direction(W, self.unit)

    def _orthonormal(self, V: Array, basis: BlockBasis | None = None) -> Array:
        if self.unit is not None:
            V = subtract_direction(V, self.unit)
        return orthonormalized(V, basis)

    # --- iteration --------------------------------------------------------------------------

    def run(self) -> Eigenpairs:
        """Iterate until residuals and, for entropy, the proof of the selection are sufficient."""
        columns = self._start_columns()
        width = len(columns)
        basis = (
            self._single_passes(columns) if self.base.has_single else self._double_start(columns)
        )
        while True:
            ritz = basis.ritz()
            pairs = self.result(ritz)
            self._report(self._worst(ritz))
            if self.passes >= self.settings.max_passes:
                return self._checked(pairs)
            prove = self.may_be_proven(pairs)
            if pairs.converged and not prove:
                return pairs
            ritz = self._restarted(ritz, width)
            basis = ritz.basis
            T = self._corrections(ritz, width if prove else None)
            if not T.shape[1]:  # the basis spans all that the landmarks can correct
                return self._checked(pairs)
            del ritz, pairs
            basis.append(T, self._multiply(False, T))

    def _double_start(self, columns: Array) -> BlockBasis:
        """Return a basis of landmark vectors in float64."""
        V = self._orthonormal(self.landmarks.vectors(columns))
        return BlockBasis(V, self._multiply(False, V), self.unit)

    def _single_passes(self, columns: Array) -> BlockBasis:
        """Iterate in float32; return the basis of the pass in float64 after that."""
        width = len(columns)
        V = self._orthonormal(self.landmarks.vectors(columns))
        blocks = [V]
        if self.selection.target == "variance":
            self.complement = ComplementNorm(len(V), self.unit)
            blocks.append(self.complement.G)
        W = self._multiply(True, *blocks)
        if self.complement is not None:
            self.complement.set_product(W[:, width:])
        basis = BlockBasis(V, W[:, :width], self.unit)
        del V, W, blocks
        worst = np.inf
        while True:
            ritz = basis.ritz()
            before, worst = worst, self._worst(ritz)
            self._report(worst)
            floor = _SINGLE_FLOOR * self.base.total * self.base.potential / ritz.values[0]
            done = worst <= max(_MARGIN * self.settings.tol, floor)
            last = self.passes >= self.settings.max_passes - 1 or worst > _SLOW * before
            last = last or self._expected(ritz) <= self.settings.tol
            new = [] if done else [self._corrections(ritz)]
            if done or last or not new[0].shape[1]:
                break
            ritz = self._restarted(ritz, width)
            basis = ritz.basis
            basis.append(new[0], self._multiply(True, new[0]))
        state = [ritz]
        del basis, ritz  # their memory is needed for the products
        return self._double_pass(state, width, new)

    def _double_pass(self, state: list[Ritz], width: int, new: list[Array]) -> BlockBasis:
        """Return a basis of Ritz vectors and corrections with products in float64.

        Of a wide block only the selected vectors are multiplied in float64. The products of the
        others stay those of float32; their error is bounded by random combinations.
        """
        ritz = state.pop()  # the only reference, deleted before the pass
        focus = self._focus(ritz, width)
        complement, others = self.complement, focus[:0]
        if complement is not None:
            complement.remove(ritz, focus)
            if len(focus) > _WIDE:
                others = focus[~np.isin(focus, self.selected(ritz))][: ritz.basis.first_count]
        own = focus[~np.isin(focus, others)]
        V = np.hstack([ritz.vectors(own, np.dtype(np.float32)), *new])
        group = ritz.replace_basis(others) if len(others) else (V[:, :0], V[:, :0])
        del ritz, new
        check, count, blocks = ProductCheck(*group), V.shape[1], [V]
        if complement is not None:
            blocks += [complement.G, complement.H]
        if len(others):
            blocks += [check.vectors]
        W = self._multiply(False, *blocks)
        basis = BlockBasis(V, W[:, :count], self.unit)
        error = self.product_error()
        if len(others):
            basis.append(*group)
            self.group_error = check.bound(W[:, -check.count :], error)
        if complement is not None:
            AG, AH = (W[:, count + i * complement.count :][:, : complement.count] for i in (0, 1))
            joint = self.group_error + np.sqrt(count) * error
            self.complement_norm = complement.bound(basis, AG, AH, error, joint)
        return basis

    def _restarted(self, ritz: Ritz, width: int) -> Ritz:
        """Return a basis with space for corrections: the same, or one of leading Ritz vectors."""
        needed = ritz.basis.count + len(self.selected(ritz)) + _NEIGHBORS
        if needed <= width + _MAX_GROWTH or self.group_error:
            return ritz
        self.complement_norm = np.inf  # of a larger span
        return ritz.restarted(self._focus(ritz, max(width, 2 * _BLOCK_SIZE)))

    def _corrections(self, ritz: Ritz, width: int | None = None) -> Array:
        """Return an orthonormal block that extends the basis.

        Selected pairs and their neighbors are corrected, or ``width`` pairs to prove more.
        """
        count = len(self.selected(ritz)) + _NEIGHBORS if width is None else width
        active = self._active(ritz, self._focus(ritz, count))
        T = self.landmarks.correction(ritz.residual_vectors(active), ritz.values[active])
        return self._orthonormal(T.astype(ritz.basis.dtype, copy=False), ritz.basis)

    def _report(self, residual: float) -> None:
        report_status(f"block Davidson: {self.passes} passes, residual {residual:.1e}")

    def _start_columns(self) -> Array:
        """Return the landmark eigenvectors to start with: largest values, largest terms."""
        values, rank = self.landmarks.values, len(self.landmarks.values)
        terms = values * self.landmarks.overlaps**2 / self.base.total**2
        exact = self.exact_selection()
        selected = choose_components(values, terms, 0.0, exact)
        count = exact.count
        if count is None:
            count = rank if selected is None else len(selected) + max(2, len(selected) // 10)
        if count > rank and self.landmarks.complete:
            raise self.selection.rank_error(rank, 0.0)
        if count > rank:
            raise ValueError(
                f"n_components={self.selection.n_components!r} needs more than the {rank} "
                f"directions that {self.base.landmarks.features.landmarks.n} landmarks span. Raise "
                "Davidson(n_landmarks=…), or use solver='dense'."
            )
        width = max(_BLOCK_SIZE, 2 * count)
        if self.settings.block_size is not None:
            width = max(self.settings.block_size, count)
        elif selected is not None and len(selected):
            width = max(width, _end_of_group(values, width, float(values[selected].min())))
        return _first_with_largest(selected, min(width, rank), rank)

    def _focus(self, ritz: Ritz, width: int) -> Array:
        """Return the Ritz pairs to iterate: those selected, and the leading ones."""
        return _first_with_largest(self.selected(ritz), width, len(ritz.values))

    def _worst(self, ritz: Ritz) -> float:
        """Return the largest residual of a selected pair, relative to the largest eigenvalue."""
        largest = float(ritz.residuals[self.selected(ritz)].max(initial=0.0))
        self.spread = self.spread or largest
        return largest / float(ritz.values[0])

    def _expected(self, ritz: Ritz) -> float:
        """Return the largest residual that is expected after the next correction.

        A correction reduces the residual by about ``‖A - UΛU'‖ / θ``.
        """
        selected = self.selected(ritz)
        rates = np.minimum(self.spread / np.maximum(ritz.values[selected], self.spread), 1)
        largest = float((rates * ritz.residuals[selected]).max(initial=0.0))
        return _SAFETY * largest / float(ritz.values[0])

    def _active(self, ritz: Ritz, focus: Array) -> Array:
        """Return the Ritz pairs to correct: those that have not converged."""
        limit = 0.1 * self.settings.tol * ritz.values[0]
        positive = focus[ritz.values[focus] > 0]
        found = positive[ritz.residuals[positive] > limit]
        return found if len(found) else positive

    def _checked(self, pairs: Eigenpairs) -> Eigenpairs:
        """Return converged pairs; raise ConvergenceError otherwise."""
        if pairs.converged:
            return pairs
        residuals = pairs.residuals
        worst = 0.0 if residuals is None else float(residuals.max() / pairs.values[0])
        raise ConvergenceError(
            f"Block Davidson reached a residual of {worst:.1e} of the largest eigenvalue within "
            f"{self.passes} passes; the tolerance is {self.settings.tol:g}. Raise "
            "Davidson(max_passes=…), n_landmarks or block_size, or use a larger tol. The "
            "attribute 'pairs' of this error holds the approximations.",
            pairs,
        )


def _end_of_group(values: Array, width: int, smallest: float) -> int:
    """Return the number of vectors that contain a group of eigenvalues close to the smallest one.

    0 if ``width`` vectors contain it, or if it is too large.

    >>> values = np.r_[9.0, np.linspace(2, 1.2, 99), np.linspace(0.7, 0.1, 200)]
    >>> _end_of_group(values, 64, 1.95), _end_of_group(values, 64, 9.0)
    (104, 0)
    """
    if len(values) <= width or values[width] < _SAME_GROUP * smallest:
        return 0
    ends = np.arange(width, min(_LARGEST_BLOCK - _BUFFER, len(values) - 1) + 1)
    ratios = values[ends - 1] / values[ends]
    best = int(np.argmax(ratios))
    clear = ratios[best] > _END_OF_GROUP and values[ends[best]] < _SAME_GROUP * smallest
    return int(ends[best]) + _BUFFER if clear else 0


def _first_with_largest(selected: Array | None, width: int, available: int) -> Array:
    """Return sorted indices below ``available``: those selected, then the smallest ones."""
    leading = np.arange(available)
    if selected is None or len(selected) > width:
        return leading[:width]
    others = leading[~np.isin(leading, selected)]
    return np.sort(np.r_[selected, others[: width - len(selected)]])
