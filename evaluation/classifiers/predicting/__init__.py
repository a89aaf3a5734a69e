"""Classifies photographs into a pool of predictions, which `mad select` reads. No Django."""
