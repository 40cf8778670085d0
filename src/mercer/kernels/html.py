"""Display of kernels in notebooks."""

from __future__ import annotations

from mercer.kernels.algebra import Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.columns import On, describe_columns
from mercer.utils.notebook import table

__all__ = ["kernel_html"]


def kernel_html(kernel: Kernel) -> str:
    """Return a small HTML table of a kernel's parameters or parts."""
    if isinstance(kernel, On):
        missing = "not fitted" if kernel.observed is None else f"mean of {kernel.observed!r}"
        rows = [["kernel", repr(kernel.kernel)], ["missing values", missing]]
        return table(f"Kernel on {describe_columns(kernel.columns)}", ["", "value"], rows)
    if isinstance(kernel, Sum | Product):
        rows = [[str(i), repr(term)] for i, term in enumerate(kernel.terms)]
        return table(
            f"{type(kernel).__name__} of {len(rows)} kernels", ["parameter", "kernel"], rows
        )
    rows = [[name, repr(value)] for name, value in kernel.get_params(deep=False).items()]
    return table(f"{type(kernel).__name__} kernel", ["parameter", "value"], rows)
