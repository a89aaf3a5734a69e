"""The truth that a release holds, written as the files that `score` reads."""
