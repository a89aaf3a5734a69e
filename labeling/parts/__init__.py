"""Objects with parts: the model that files, answers and releases share, joining several drawings,
simplifying, and the background that no part covers. Imports geometry and vocabulary; no Django.
"""
