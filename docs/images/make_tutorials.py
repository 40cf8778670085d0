"""Draw the figures of pages: ``.venv/bin/python docs/images/make_tutorials.py [page …]``.

The code blocks of a page are run in a temporary folder, and the figures that they save are copied
to ``tutorials/``.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
import types
from pathlib import Path

from PIL import Image

os.environ["MPLBACKEND"] = "Agg"
DOCS = Path(__file__).parents[1]  # guides, and tutorials in a folder
PICTURES = Path(__file__).with_name("tutorials")
MAX_BYTES = 100_000


def run(page):
    """Execute a page's Python blocks in the current folder, silently."""
    module = sys.modules["page"] = types.ModuleType("page")  # so that its classes can be pickled
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, str(page), "exec"), vars(module))


def copy(picture, place):
    """Copy a figure with 128 colors, which needs a third of the bytes. Return its size."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(place, optimize=True)
    size = place.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{place} has {size} bytes; the limit is {MAX_BYTES}. Draw it smaller.")
    return size


def main(names):
    """Draw the figures of the pages with these names, or of all pages with figures."""
    pages = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("tutorials/*.md"))]
    pages = [p for p in pages if "savefig(" in p.read_text(encoding="utf-8")]
    pages = [p for p in pages if not names or p.stem in names]
    PICTURES.mkdir(exist_ok=True)
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run(page)
            for picture in sorted(Path(folder).glob("*.png")):
                size = copy(picture, PICTURES / picture.name)
                print(picture.name, size)


if __name__ == "__main__":
    main(sys.argv[1:])
