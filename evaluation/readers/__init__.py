"""Read files into checked arrays. All checks happen here, once; errors are BadInput with file, line
and cure.
"""
