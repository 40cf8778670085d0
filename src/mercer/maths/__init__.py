"""The mathematics as pure functions: arrays in, arrays out, no kernels, no estimators."""
