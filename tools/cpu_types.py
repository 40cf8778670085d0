"""Run doctests and numerical tests with the code paths that NumPy and OpenBLAS use on other CPUs.

    ./run test --cpu [TYPE ...] [-- ARGS]      types (default: all), arguments for pytest

Results must not depend on the last bits of a matrix product. OpenBLAS chooses its kernels by CPU
type and NumPy its SIMD instructions by CPU features; environment variables force another choice.
"""

from __future__ import annotations

import os
import subprocess
import sys

#: Environment variables of each CPU type. X86_V3 covers AVX2 and FMA in NumPy 2.4; our own compiled
#: code needs them.
TYPES = {
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "MERCER_COMPILED": "0"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "no-AVX2": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3",
        "MERCER_COMPILED": "0",
    },
}
PACKAGES = (
    *("bandwidth", "decomposition", "density", "eigen", "gram", "information", "kernels"),
    "population",
)
#: Numerical tests, and the doctests of packages that compute.
TESTS = (
    *(f"src/mercer/{name}" for name in (*PACKAGES, "cluster", "mixture", "novelty", "supervised")),
    *(f"tests/{name}" for name in PACKAGES),
    *(f"tests/utils/test_{name}.py" for name in ("exponentials", "matmul", "pairwise")),
    "tests/properties/test_kernels.py",
)


def run_tests(name: str, arguments: list[str]) -> int:
    """Run the tests as on one CPU type and return the exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider"]
    variables = {"OMP_NUM_THREADS": "1", "MERCER_TEST_PROFILE": "fast"} | TYPES[name]
    print(f"{name}: {TYPES[name]}", flush=True)
    done = subprocess.run(
        [*command, "-m", "not slow", *(arguments or TESTS)], env=os.environ | variables, check=False
    )
    return done.returncode


def main(arguments: list[str]) -> int:
    """Run the tests as on all named CPU types; return 1 if a test failed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    names = arguments[:end] or list(TYPES)
    if unknown := set(names) - set(TYPES):
        raise SystemExit(f"Unknown CPU types {sorted(unknown)}; choose from {', '.join(TYPES)}")
    codes = {name: run_tests(name, arguments[end + 1 :]) for name in names}
    print(", ".join(f"{name}: {'failed' if code else 'passed'}" for name, code in codes.items()))
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
