"""Files → checked arrays. Everything is checked here, once; what is wrong is a BadInput with file,
line and cure.
"""
