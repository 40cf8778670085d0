"""Draw the pictures of the tutorials: ``.venv/bin/python docs/images/make_tutorials.py [page …]``.

The pages draw them themselves: their blocks are run in a temporary folder, and what they save there
is copied to ``tutorials/``. So a picture is always that of the code beside it.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image

os.environ["MPLBACKEND"] = "Agg"
PAGES = Path(__file__).parents[1] / "tutorials"
PICTURES = Path(__file__).with_name("tutorials")
MOST_BYTES = 100_000


def run(page):
    """Execute a page's Python blocks in the current folder, silently."""
    names = {"__name__": page.stem}
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, str(page), "exec"), names)


def copy(picture, place):
    """Copy a picture, with 128 colors: they suffice, and a third of the bytes. Return its size."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(place, optimize=True)
    size = place.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{place} has {size} bytes, more than {MOST_BYTES}: draw it smaller.")
    return size


def main(wanted):
    """Draw the pictures of the pages with these names, or of all that have some."""
    drawing = [p for p in sorted(PAGES.glob("*.md")) if "savefig(" in p.read_text(encoding="utf-8")]
    pages = [PAGES / f"{name}.md" for name in wanted] or drawing
    PICTURES.mkdir(exist_ok=True)
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run(page)
            for picture in sorted(Path(folder).glob("*.png")):
                size = copy(picture, PICTURES / picture.name)
                print(picture.name, size)


if __name__ == "__main__":
    main(sys.argv[1:])
