"""Start a benchmark: choose classes, and build the queries that find their images. Pure.

Source: Russakovsky et al. (2015), §3.1 and §3.3.
"""
