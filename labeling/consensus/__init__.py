"""Votes become verdicts: votes read, questions settled, reviewed, and calibrations learned and
kept.
"""
