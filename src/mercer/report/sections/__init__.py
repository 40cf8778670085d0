"""Sections of the page: one module each prepares the text for its template."""
