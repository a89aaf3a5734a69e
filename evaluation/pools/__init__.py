"""Pools that the site makes: registered models predict on the photographs of a dataset."""
