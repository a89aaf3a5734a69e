"""Benchmarks: what was frozen is scored. A library under a thin Django skin.

Packages in one order; each imports only from those above it: models, metrics, readers,
selection, sequences, scoring, classifiers, benchmarks, benchmarks.kinds. Metrics to classifiers
know no Django. tests/test_architecture.py holds it.
"""
