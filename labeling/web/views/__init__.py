"""Researchers' pages, one module per group."""
