"""Sections of the page: words and markup, one module per question."""
