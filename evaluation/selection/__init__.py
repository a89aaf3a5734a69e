"""Choosing images from a pool of predictions: at once, in shards, or as tasks. No Django."""
