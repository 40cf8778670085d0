"""Pure functions of NumPy arrays, independent of kernels and estimators."""
