"""Check a built site: ``python docs/check_links.py docs/_build/html``.

Internal links must point to an existing file, and to an existing anchor if they name one.
Everything that a page loads (scripts, styles, fonts, images) must be part of the site. External
links are checked for their form only, because the check must work without a network.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_URL_IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
# resources that the browser loads, as opposed to links
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "copyright", "top", "up"}


@dataclass
class Page(HTMLParser):
    """Anchors, loaded resources and links of a page."""

    text: str
    anchors: set[str] = field(default_factory=set)
    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors, resources and links of a tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.loads += [a or b for a, b in _URL_IN_STYLE.findall(values.get("style", ""))]
        if tag in _LOADED and _LOADED[tag] in values:
            kind = set(values.get("rel", "").split())
            target = self.links if kind & _NOT_LOADED else self.loads
            target.append(values[_LOADED[tag]])
        elif tag == "a" and "href" in values:
            self.links.append(values["href"])


def find_pages(site: Path) -> list[Path]:
    """Return the pages of a site, without templates in the theme's static files."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def find_url_error(address: str) -> str | None:
    """Return what is wrong with the form of an external link, or None."""
    parts = urlsplit(address)
    if parts.scheme == "mailto":
        return None if "@" in parts.path else "no address"
    if parts.scheme not in ("http", "https"):
        return f"unknown scheme {parts.scheme!r}"
    return None if re.fullmatch(r"[\w.-]+\.\w+(:\d+)?", parts.netloc) else "no host"


def resolve(page: Path, address: str) -> tuple[Path, str]:
    """Return file and anchor ('' if there is none) of an internal link."""
    parts = urlsplit(address)
    path = page.parent / unquote(parts.path) if parts.path else page
    return (path / "index.html" if path.is_dir() else path).resolve(), unquote(parts.fragment)


def find_problems(site: Path) -> list[str]:
    """Return a message for every broken link and external resource."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in find_pages(site)}
    if not pages:
        return [f"{site} has no pages"]
    problems = []
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for address in page.loads:
            if urlsplit(address).scheme == "data":
                continue
            if urlsplit(address).scheme or address.startswith("//"):
                problems.append(f"{here} loads {address}, which is not part of the site")
            elif not resolve(path, address)[0].exists():
                problems.append(f"{here} loads {address}, which does not exist")
        for address in page.links:
            if urlsplit(address).scheme or address.startswith("//"):
                if (error := find_url_error(address)) is not None:
                    problems.append(f"{here} links to {address}: {error}")
                continue
            file, anchor = resolve(path, address)
            if not file.exists():
                problems.append(f"{here} links to {address}, which does not exist")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                problems.append(f"{here} links to {address}, but there is no such anchor")
    for style in site.rglob("*.css"):
        for a, b in _URL_IN_STYLE.findall(style.read_text(encoding="utf-8")):
            address = a or b
            if urlsplit(address).scheme != "data" and (
                urlsplit(address).scheme or not resolve(style.resolve(), address)[0].exists()
            ):
                problems.append(
                    f"{style.relative_to(site)} loads {address}, which is not part of the site"
                )
    return problems


def main(site: Path) -> int:
    """Print all problems. Return 1 if there are any."""
    problems = find_problems(site)
    for line in problems:
        print(line, file=sys.stderr)
    pages = len(find_pages(site))
    print(f"{pages} pages, {len(problems)} broken links ({site / 'index.html'})")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
