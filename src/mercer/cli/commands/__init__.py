"""Commands of the ``mercer`` program, one module each."""
