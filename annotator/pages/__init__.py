"""Annotators' pages, and the same for programs."""
