"""Benchmarks on the labels of a release: WSOL, classification, localization, detection."""
