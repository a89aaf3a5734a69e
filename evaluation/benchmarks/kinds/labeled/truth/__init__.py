"""The truth in a release, written as files that `score` reads."""
