"""Sphinx builds the documentation with this: `make docs`."""

project = "Assay"
author = "The Assay authors"
extensions = ["myst_parser"]
# Headings get the anchors that GitHub gives them, so that a link works in both places.
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Assay"
html_static_path = ["_static"]
html_css_files = ["assay.css"]
html_copy_source = False
