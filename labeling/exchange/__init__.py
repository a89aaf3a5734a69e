"""Import and export: known labels, objects with parts, researchers' lists, zipped releases."""
