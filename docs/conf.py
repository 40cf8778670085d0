"""How the pages are built: ``./run docs`` (offline; no page asks another host for anything)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

import mercer  # noqa: E402

project = "mercer"
author = "The mercer developers"
copyright = author
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "mathml",
    "docstrings",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery", "papers/tables"]
templates_path = ["_templates"]
smartquotes = False  # 1'K1 is a formula
toc_object_entries_show_parents = "hide"
nitpicky = True
# Types are named in words; other projects' names have no inventory offline.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|dask)\..*"),
    (r"py:.*", r"collections\.abc\..*"),
    # names below the public floors have no page: design.md tells what they are for
    (r"py:.*", r"mercer\.(points|operators|maths|decomposition|preimages|config|writing)(\..*)?"),
]

# --- Markdown -------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# --- The reference --------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types, in words
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- The gallery ----------------------------------------------------------------------------------

if (HERE / "gallery").is_dir():
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "gallery",
        "gallery_dirs": "auto_gallery",
        "filename_pattern": r"plot_",
        "abort_on_example_error": False,
        "only_warn_on_example_error": False,
        "download_all_examples": False,
        "remove_config_comments": True,
        "show_memory": False,
        "show_signature": False,
        "within_subsection_order": "FileNameSortKey",
        "plot_gallery": True,
        "matplotlib_animations": False,
        "image_scrapers": ("matplotlib",),
        "reset_modules": ("matplotlib",),
        "parallel": True,  # as many as ``-j`` says
        "write_computation_times": False,
    }

# --- How it looks ---------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["sphinx-version"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "when": [], "comparison": [], "benchmarks": []}


def only_what_is_there(app, name, source):
    """Drop parts of the "learn" page that a checkout comes without: tutorials, gallery."""
    if name == "learn":
        lines = source[0].split("\n")
        absent = {line for line in lines if line.endswith("/index") and not parts_of(line)}
        source[0] = "\n".join(line for line in lines if line not in absent)


def parts_of(page):
    """Files that a page's name may stand for."""
    return list(HERE.glob(f"{page}.*"))


def setup(app):
    """Listen to Sphinx."""
    app.connect("source-read", only_what_is_there)
