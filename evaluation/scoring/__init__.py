"""One module per `score` verb, from files to figures. No Django.

MAD has no such verb: `mad rank` and its benchmark call metrics/mad/ranking.py.
"""
