"""A benchmark begun from nothing: which classes, and by which queries their images are found. Pure.

Source: Russakovsky et al. (2015), §3.1 and §3.3.
"""
