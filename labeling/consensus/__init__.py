"""Votes become labels: questions settled, reviewed, and calibrations learned and kept.

settling.settle_locked decides a question that has its votes and writes the Settlement; the value
itself is kinds/deciding.judge's, reached through votes.verdict_on.
"""
