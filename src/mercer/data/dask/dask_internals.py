"""The only use of Dask's private API: fusing a task with the tasks that produce its chunk.

A fused chunk is read, used and freed within one task, so a worker never holds more chunks than it
has threads, and chunks of several columns are read on the worker that needs them. Dask's public
optimizations fuse linear chains only, not a task with two sources such as rows and weights.
``tests/data/test_dask_internals.py`` fails if this API changes. Without the API, tasks are not
fused: results are the same, but more chunks are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["fuse_sources"]


def fuse_sources(graph: dict[Any, Any], keys: Sequence[Any]) -> dict[Any, Any]:
    """Return the graph with each of these tasks fused with the tasks that only it depends on."""
    try:
        from dask._task_spec import GraphNode, convert_legacy_graph
    except ImportError:
        return graph
    nodes = convert_legacy_graph(graph)
    dependents: dict[Any, set[Any]] = {key: set() for key in nodes}
    for key, node in nodes.items():
        for source in node.dependencies:
            dependents.setdefault(source, set()).add(key)
    fused = dict(nodes)
    for key in keys:
        inside = _with_own_sources(key, nodes, dependents)
        if len(inside) > 1:
            for source in inside:
                fused.pop(source, None)
            fused[key] = GraphNode.fuse(*inside.values(), key=key)
    return fused


def _with_own_sources(
    key: Any, nodes: dict[Any, Any], dependents: dict[Any, set[Any]]
) -> dict[Any, Any]:
    """Return the node of a key and the nodes that only it depends on."""
    inside = {key: nodes[key]}
    pending = set(nodes[key].dependencies)
    while pending:
        source = pending.pop()
        if source in nodes and dependents[source] <= inside.keys():
            inside[source] = nodes[source]
            pending |= set(nodes[source].dependencies) - inside.keys()
    return inside
