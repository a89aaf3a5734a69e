"""Versions of a classification's label sets, made by reviews of mistakes."""
