"""Datasets with their images, objects and vocabulary: importing, storing and serving."""
