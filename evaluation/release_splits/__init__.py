"""Splits of releases that the site makes: pages, API, and the parts that benchmarks score."""
