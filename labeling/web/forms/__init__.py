"""Researchers' forms, by pages. What the domain refuses comes back at the field it names."""
