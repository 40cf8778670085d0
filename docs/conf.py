"""Sphinx configuration. ``./run docs`` builds the pages without a network."""

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
    "keywords",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery", "papers/tables"]
templates_path = ["_templates"]
smartquotes = False  # 1'K1 is a formula
toc_object_entries_show_parents = "hide"
nitpicky = True
# Docstrings describe types in prose; other projects' inventories are not available offline.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|dask)\..*"),
    (r"py:.*", r"collections\.abc\..*"),
    # internal modules have no page in the reference; architecture.md describes them
    (r"py:.*", r"mercer\.(utils|data|gram|eigen)(\..*)?"),
]

# --- Markdown -------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# --- The reference --------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections describe the types
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
        "parallel": True,  # number of processes: ``-j``
        "write_computation_times": False,
    }

# --- Appearance ---------------------------------------------------------------------------------

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
html_sidebars = {"index": [], "comparison": [], "benchmarks": []}


def drop_absent_pages(app, name, source):
    """Remove entries of the start page that are missing in a checkout: the gallery."""
    if name == "index":
        lines = source[0].split("\n")
        absent = {line for line in lines if line == "auto_gallery/index" and not find_sources(line)}
        source[0] = "\n".join(line for line in lines if line not in absent)


def find_sources(page):
    """Return the source files of a page, with any suffix."""
    return list(HERE.glob(f"{page}.*"))


def setup(app):
    """Connect to Sphinx events."""
    app.connect("source-read", drop_absent_pages)
