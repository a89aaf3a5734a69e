"""Benchmarks whose truth is a release's labels: classification, localization, detection, wsol."""
