"""Labels in and out: files of known labels, objects with parts, lists of researchers, exports
of release_files/ packed as zip files.
"""
