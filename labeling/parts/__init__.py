"""Objects with parts: the model that files, answers and releases share, merging several drawings,
simplifying, and the background outside all parts. Imports geometry and vocabulary; no Django.
"""
