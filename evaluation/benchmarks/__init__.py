"""Benchmarks, submissions and runs on the site: pages, API, downloads."""
