"""Boxes around every instance of a class in an image: the chain of draw, check and cover, and
merging several drawings. Imports geometry; no Django.
"""
