"""Generated parts of docs/architecture.md, between comments that name them."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def _marked(name: str, content: str) -> str:
    return f"<!-- {name}: begin -->\n\n{content}\n\n<!-- {name}: end -->"


def is_current(name: str, content: str, page: Path = PAGE) -> bool:
    """Return whether the page contains this version of the section."""
    return _marked(name, content) in page.read_text(encoding="utf-8")


def update(name: str, content: str, page: Path = PAGE) -> None:
    """Replace a section of the page; a page without it gets it at the end."""
    text = page.read_text(encoding="utf-8") if page.exists() else "# Architecture\n"
    before, begin, rest = text.partition(f"<!-- {name}: begin -->")
    after = rest.partition(f"<!-- {name}: end -->")[2] if begin else "\n"
    page.write_text(
        before + ("" if begin else "\n") + _marked(name, content) + after, encoding="utf-8"
    )
