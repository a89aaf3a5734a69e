"""Metrics: numpy and torch in, plain numbers out. Nothing here knows of Django or of labeling."""
