"""Choosing images from a pool of predictions, at once or in shards. No Django."""
