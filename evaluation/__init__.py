"""Benchmarks: score frozen releases. A library under a thin Django layer.

Packages in order; each imports only from those before it: models, metrics, readers, selection,
sequences, scoring, classifiers, benchmarks, benchmarks.kinds. Metrics to classifiers do not import
Django. tests/test_architecture.py checks this.
"""
