"""Pure functions on arrays, one package per family.

Compiled loops are in kernels*.py, which are imported inside functions.
"""
