"""The demo that `make demo` loads, with its files."""
