"""Data that enters an estimator: validation, points and samples, subsampling, Dask."""
