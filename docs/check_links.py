"""Check a built site: ``python docs/check_links.py docs/_build/html``.

Links within the site must lead to a file, and to an anchor where they name one; whatever a page
loads (scripts, styles, fonts, pictures) must be part of the site. Links to other hosts are looked
at for their form only, since this has to work without a network.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_URL_IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
# what a page fetches by itself, as opposed to what a reader may follow
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "copyright", "top", "up"}


@dataclass
class Page(HTMLParser):
    """Anchors of a page, what it loads and where it leads."""

    text: str
    anchors: set[str] = field(default_factory=set)
    loads: list[str] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag defines, loads or leads to."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.loads += [a or b for a, b in _URL_IN_STYLE.findall(found.get("style", ""))]
        if tag in _LOADED and _LOADED[tag] in found:
            kind = set(found.get("rel", "").split())
            place = self.leads if kind & _NOT_LOADED else self.loads
            place.append(found[_LOADED[tag]])
        elif tag == "a" and "href" in found:
            self.leads.append(found["href"])


def pages_of(site: Path) -> list[Path]:
    """The site's pages, without the templates that a theme leaves among its own files."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def wrong_address(address: str) -> str | None:
    """Say what is wrong with the form of an outside link; None where it is a good one."""
    parts = urlsplit(address)
    if parts.scheme == "mailto":
        return None if "@" in parts.path else "no address"
    if parts.scheme not in ("http", "https"):
        return f"unknown scheme {parts.scheme!r}"
    return None if re.fullmatch(r"[\w.-]+\.\w+(:\d+)?", parts.netloc) else "no host"


def target(page: Path, address: str) -> tuple[Path, str]:
    """Turn an inside link into a file and an anchor ('' where it names none)."""
    parts = urlsplit(address)
    path = page.parent / unquote(parts.path) if parts.path else page
    return (path / "index.html" if path.is_dir() else path).resolve(), unquote(parts.fragment)


def problems(site: Path) -> list[str]:
    """Everything that is wrong with a site, in words."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in pages_of(site)}
    if not pages:
        return [f"{site} holds no pages"]
    found = []
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for address in page.loads:
            if urlsplit(address).scheme == "data":
                continue
            if urlsplit(address).scheme or address.startswith("//"):
                found.append(f"{here} loads {address}, which is not part of the site")
            elif not target(path, address)[0].exists():
                found.append(f"{here} loads {address}, which does not exist")
        for address in page.leads:
            if urlsplit(address).scheme or address.startswith("//"):
                if (wrong := wrong_address(address)) is not None:
                    found.append(f"{here} leads to {address}: {wrong}")
                continue
            file, anchor = target(path, address)
            if not file.exists():
                found.append(f"{here} leads to {address}, which does not exist")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                found.append(f"{here} leads to {address}, where there is no such anchor")
    for style in site.rglob("*.css"):
        for a, b in _URL_IN_STYLE.findall(style.read_text(encoding="utf-8")):
            address = a or b
            if urlsplit(address).scheme != "data" and (
                urlsplit(address).scheme or not target(style.resolve(), address)[0].exists()
            ):
                found.append(f"{style.relative_to(site)} loads {address}, which is not there")
    return found


def main(site: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    found = problems(site)
    for line in found:
        print(line, file=sys.stderr)
    pages = len(pages_of(site))
    print(f"{pages} pages, {len(found)} broken links ({site / 'index.html'})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
