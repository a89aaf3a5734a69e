"""Splits of labeled images: rules, assignment, and the files of a split. No Django."""
