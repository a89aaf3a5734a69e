"""One module for each `score` verb: files in, every figure out. No Django."""
