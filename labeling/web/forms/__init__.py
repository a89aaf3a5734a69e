"""Researchers' forms by page. Refusals of the domain are shown at the field they name."""
