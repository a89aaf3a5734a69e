"""Labels in and out: files of known labels, objects with parts, lists of researchers, exports as
zip files.
"""
