"""One module for each `score` verb: files in, every figure out. No Django.

MAD has no such verb: `mad rank` and its benchmark call metrics/mad/ranking.py."""
