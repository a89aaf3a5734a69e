"""Benchmarks: score frozen releases. A library under a thin Django layer.

Packages in order; each imports only from those before it: models, metrics, readers, engines,
selection, sequences, scoring, splits, collecting, classifiers, wsol_study, release_splits,
benchmarks, benchmarks.kinds, pools, release_reports. Metrics to wsol_study do not import Django.
tests/test_architecture.py checks this.
"""
