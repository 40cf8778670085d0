"""Speed and memory as ratios to named peers in one run: ``./run bench``."""
