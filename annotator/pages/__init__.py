"""Annotators' pages, and the API with the same actions."""
