"""Dask's private API: these tests fail if a new version of Dask changes it."""

import sys

import numpy as np
import pytest

from mercer.data.dask import passes_for

da = pytest.importorskip("dask.array", reason="needs mercer[dask]")


def rows_and_weights():
    from dask import delayed

    rows = [da.from_delayed(delayed(np.ones)((5, 2)), (5, 2), dtype=float) for _ in range(4)]
    weights = [da.from_delayed(delayed(np.ones)(5), (5,), dtype=float) for _ in range(4)]
    return da.concatenate(rows), da.concatenate(weights)


def weighted_sum(rows, weights):
    return float(weights @ rows[:, 0])


def test_tasks_are_fused_with_several_sources():
    from mercer.data.dask.tasks import fused_tasks

    graph, keys = fused_tasks(weighted_sum, rows_and_weights(), "sum")
    assert set(graph) == set(keys)
    assert len(keys) == 4


def test_shared_sources_are_not_fused():
    from mercer.data.dask.tasks import fused_tasks

    shared = da.from_array(np.ones((20, 2)), chunks=(20, 2)).rechunk((5, 2))
    graph, keys = fused_tasks(np.sum, [shared], "sum")
    assert len(graph) > len(keys)  # the array itself is not copied into every task
    assert passes_for(shared).sum(np.sum, shared) == 40


def test_results_do_not_depend_on_fusion(monkeypatch):
    rows, weights = rows_and_weights()
    monkeypatch.setitem(sys.modules, "dask._task_spec", None)  # as if it had been removed
    from mercer.data.dask import dask_internals

    graph = {"a": (np.ones, 3)}
    assert dask_internals.fuse_sources(graph, ["a"]) is graph
    monkeypatch.undo()
    monkeypatch.setattr("mercer.data.dask.tasks.fuse_sources", lambda graph, keys: graph)
    assert passes_for(rows).sum(weighted_sum, rows, weights) == 20
