"""Find words that are not plain technical English, and print them as ``file:line``.

    python -m tools.check_language [PATH ...]

``PATTERNS`` has the words to avoid, each with the term of the field to use instead, and British
spellings. The patterns are case-insensitive. ``ALLOWED`` lists lines that use such a word in its
normal meaning; add a line there only if no other word fits.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "papers", "tests", "tools", "benchmarks", "docs")
FILES = ("README.md", "CONTRIBUTING.md", "run", ".ci/run")
ENDINGS = {".py", ".md", ".js", ".html", ".css", ".rst", ""}
SKIPPED = {"_build", "generated", "auto_gallery", "__pycache__", "node_modules", "vendor", "images"}

#: Pattern and what to write instead.
PATTERNS = {
    r"\blonel(y|iness)\b": "isolated",
    r"\bstrangers?\b": "unrelated points",
    r"\bloudest\b": "largest",
    r"\blikeness(es)?\b": "match, similarity",
    r"\binsists?\b": "requires",
    r"\bweighs? nothing\b": "has zero weight",
    r"\bmade anew\b": "recomputed, rebuilt",
    r"\b(refused|told|said|says?|errors?) in words\b": "raises a clear error",
    r"(?<!word )\bin words\b": "as text, with a clear message",
    r"\bstay(s|ed)? behind\b": "is dropped, stays on the workers",
    r"\b(is|are|was|were|be|been) told\b": "is reported, is passed",
    r"\bunless told\b": "by default",
    r"\bhand(s|ed|ing)? (it |them )?over\b": "pass",
    r"\bof no (rows|points|columns)\b": "for empty input",
    r"\bputs? up with\b": "limits",
    r"\bis no (kernel|number|table|file|folder|column|window|estimator|distribution)\b": "is not a",
    r"(?<!up )\bto rounding\b": "up to rounding error",
    r"\bbut for rounding\b": "up to rounding error",
    r"\bmay be anyone's\b": "may run arbitrary",
    r"\bplane waves?\b": "Fourier features",
    r"\bleft[- ]out rows?\b": "held-out rows, leave-one-out",
    r"\bwithout company\b": "isolated",
    r"\bwhat is only tried\b": "trial fits",
    r"\bwhat travels\b": "what is pickled",
    r"\bshows itself\b": "is found",
    r"\bhere and there\b": "in some places",
    r"\bnobody (sees|saw|asked|chose|has)\b": "name the case",
    r"\bno matter what\b": "for any",
    r"\bbeside\b": "next to, compared with",
    r"\bflatter(s|ed|ing)?\b": "is optimistic",
    r"\bcontent with\b": "accepts",
    r"\bstands? for all\b": "subsample, representative rows",
    r"\bhow far to trust\b": "reliability, accuracy",
    r"\blean(s|ed|ing)? on\b": "use",
    r"\bthe engine's\b": "of the cluster, of Dask",
    r"\b(travels|travelling|traveling) (to|with|by)\b": "is sent, is pickled",
    r"\b(un)?(centr(e|ing)|colour|neighbour|behaviour|licence)\w*": "American spelling",
    r"\b(normal|standard|general|penal|minim|maxim|optim)is(e|ing|ation)": "American spelling",
}

#: Lines of these files (by path and a part of the line) use a word in its normal meaning.
ALLOWED = (
    ("tools/check_language.py", ""),
    ("docs/changelog", ""),
    ("tests/tools/test_language_check.py", ""),
    ("src/mercer/explorer/static/plotly", ""),
)


def paths(arguments: list[str]) -> Iterator[Path]:
    """Yield the text files below the given paths, by default of the whole project."""
    roots = [Path(name).resolve() for name in arguments] or [ROOT / n for n in (*FOLDERS, *FILES)]
    for root in roots:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in ENDINGS and path.is_file() and not SKIPPED & set(path.parts):
                yield path


def is_allowed(path: str, line: str) -> bool:
    """Return whether a line is on the list of exceptions."""
    return any(path.startswith(start) and part in line for start, part in ALLOWED)


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the words found and the replacement."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        for pattern, instead in PATTERNS.items():
            found = re.search(pattern, line, re.IGNORECASE)
            if found and not is_allowed(name, line):
                yield number, found[0], instead


def main(arguments: list[str]) -> int:
    """Print the findings and return 1 if there are any."""
    count = 0
    for path in paths(arguments):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for number, words, instead in findings(path):
            print(f"{name}:{number}: {words!r}; use: {instead}")
            count += 1
    print(f"{count} findings" if count else "Language check passed")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
