"""Datasets, their images and objects: imported, kept, given out; the stored vocabulary of a
dataset.
"""
