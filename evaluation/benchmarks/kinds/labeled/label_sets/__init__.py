"""Versions of a classification's label sets: reviews of mistakes, and every submission by each."""
