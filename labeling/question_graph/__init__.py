"""Graphs of questions: read and checked, replayed over answers, ordered, planned for an image;
shipped ones in data/. No Django.
"""
