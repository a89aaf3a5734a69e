"""Frames of part sequences: which pixels are shown, in which order, and how the others look."""
