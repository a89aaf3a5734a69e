"""Pure functions on arrays, a package for each family; compiled loops in kernels*.py, imported
inside functions.
"""
