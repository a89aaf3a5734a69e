"""Photographs through networks into a pool of predictions, which `mad select` reads. No Django."""
