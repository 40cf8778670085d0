"""Scripts for developers: versions, archives, fuzzing, property tests, import graph."""
