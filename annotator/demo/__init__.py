"""The demonstration that `make demo` shows, with its files."""
