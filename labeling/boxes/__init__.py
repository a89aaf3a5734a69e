"""Boxes around every instance of a class in an image: the chain of draw, check and cover, and the
joining of several drawings. Imports geometry; no Django.
"""
