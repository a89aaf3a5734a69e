"""Frames of part sequences: which pixels are revealed, in which order, and how the rest looks."""
