"""Sphinx settings of the documentation.

``sphinx-build -W --keep-going docs docs/_build`` builds the site. With
``SKANCHOR_DOCS_GALLERY=0`` in the environment it does not run the gallery, and with
``SKANCHOR_DOCS_OFFLINE=1`` it looks for no documentation of other packages.

The Markdown pages of this folder are the source. ``generated`` and ``auto_examples``
hold what each build makes anew: pages of the public names, and the gallery.
"""

import os
import sys
import tomllib
import urllib.request
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, isroutine, unwrap
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from site_pages import page_of_the_site  # noqa: E402

import skanchor  # noqa: E402

with open(ROOT / "pyproject.toml", "rb") as file:
    _metadata = tomllib.load(file)["project"]
_repository = _metadata["urls"]["Repository"]

project = "skanchor"
author = "The skanchor developers"
copyright = f"2026, {author}. BSD 3-Clause licence"
version = release = _metadata["version"]

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinxarg.ext",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = "literal"
smartquotes = False
nitpicky = True
toc_object_entries_show_parents = "hide"
suppress_warnings = ["config.cache"]

# Markdown
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Reference
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
# What `skanchor` itself offers has its page there alone.
autosummary_context = {"top": skanchor.__all__}
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
# Types of parameters lead to the pages of our classes, and to those of pandas if they
# can be reached; numpydoc's own links to Python and NumPy are switched off.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS}
for _name in (*skanchor._PUBLIC_MODULES, ""):
    _module = import_module(f"skanchor.{_name}".removesuffix("."))
    numpydoc_xref_aliases |= {
        name: f"{_module.__name__}.{name}"
        for name in _module.__all__
        if isclass(getattr(_module, name))
    }

# Formulas, without a script or a network
html_math_renderer = "mathml"

# Gallery
_has_matplotlib = find_spec("matplotlib") is not None
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skanchor",),
    "image_scrapers": ("matplotlib",) if _has_matplotlib else (),
    "reset_modules": ("matplotlib",) if _has_matplotlib else (),
    "plot_gallery": _has_matplotlib and os.environ.get("SKANCHOR_DOCS_GALLERY") != "0",
    "min_reported_time": 3600,
    "write_computation_times": False,
    "show_signature": False,
}

# HTML
html_theme = "pydata_sphinx_theme"
html_title = f"skanchor {release}"
html_static_path = ["_static"]
html_css_files = ["skanchor.css"]
html_js_files = ["skanchor.js"]
html_show_sourcelink = False
html_theme_options = {
    "github_url": _repository,
    "navbar_center": [],
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "**": ["globaltoc.html"]}


def _inventories() -> dict[str, tuple[str, None]]:
    """Documentation of other packages that can be reached now.

    ``SKANCHOR_DOCS_OFFLINE=1`` asks for none.
    """
    if os.environ.get("SKANCHOR_DOCS_OFFLINE"):
        return {}
    found = {}
    for name, address in {
        "sklearn": "https://scikit-learn.org/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
    }.items():
        try:
            with urllib.request.urlopen(f"{address}objects.inv", timeout=5):
                found[name] = (address, None)
        except OSError as error:
            print(f"no links to {name}: {error}")
    return found


intersphinx_mapping = _inventories()
if intersphinx_mapping:
    extensions.append("sphinx.ext.intersphinx")
if "pandas" in intersphinx_mapping:
    numpydoc_xref_aliases |= {one: f"pandas.{one}" for one in ("DataFrame", "Series")}


def _adapt(app, docname, source):
    """Make a Markdown page of the repository one of the site."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        page = f"{docname}.md"
        source[0] = page_of_the_site(source[0], page, f"{_repository}/blob/main")


def _skip(app, what, name, member, skip, options):
    """Leave out members that other packages define."""
    found = unwrap(getattr(member, "fget", None) or member)
    module = getattr(found, "__module__", None)
    is_foreign = module is not None and not module.startswith("skanchor")
    return True if is_foreign or (module is None and isroutine(found)) else None


def setup(app):
    """Connect what changes pages and members."""
    app.connect("source-read", _adapt)
    app.connect("autodoc-skip-member", _skip)
