"""Benchmarks whose truth is the labels of a release: classification, localization, detection,
wsol.
"""
