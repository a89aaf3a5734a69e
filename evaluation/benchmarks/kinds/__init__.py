"""The kinds of benchmark, a package each."""
