"""The papers' tables and figures, computed anew: one module per paper.

Each module has ``tables()``, which returns rows (what, the paper's value, ours, the fair range, a
verdict), and ``figures()``, which returns matplotlib figures by name.
"""
