"""Vocabularies of parts: types, reading, checks and changes; shipped ones in data/. No Django."""
