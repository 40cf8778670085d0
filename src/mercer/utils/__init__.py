"""Functions that many subjects share: validation, files, resources, formatting, numerics."""
