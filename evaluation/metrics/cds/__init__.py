"""The Contextual Dissimilarity Score and every table of it."""
