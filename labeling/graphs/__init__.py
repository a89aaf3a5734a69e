"""Stored graph versions, known labels of images, and the learned order of questions."""
