"""Check the search index of a built site: ``python docs/check_search.py docs/_build/html``.

Each keyword of ``_ext/keywords.py`` must be a main index entry of its page and of no other page.
Sphinx's search then lists this page first. The site must come from a full build: Sphinx drops the
index entries of pages that an incremental build does not read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from keywords import KEYWORDS


def find_problems(index: dict, keywords: dict[str, list[str]]) -> list[str]:
    """Return a message for every keyword that finds no page or another page first."""
    problems = []
    for page, expected in keywords.items():
        for keyword in expected:
            entries = index["indexentries"].get(keyword, [])
            found = {index["docnames"][number] for number, _, is_main in entries if is_main}
            if found != {page}:
                problems.append(f"{keyword!r} finds {sorted(found) or 'no page'} instead of {page}")
    return problems


def read_index(site: Path) -> dict:
    """Return the search index of a site."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(text[text.index("(") + 1 : text.rindex(")")])


def main(site: Path) -> int:
    """Print all problems. Return 1 if there are any."""
    problems = find_problems(read_index(site), KEYWORDS)
    for line in problems:
        print(line, file=sys.stderr)
    print(f"{sum(map(len, KEYWORDS.values()))} keywords, {len(problems)} without their page")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
