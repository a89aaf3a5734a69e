"""Votes become labels: settling, reviewing, and learning calibrations.

settling.settle_locked decides a question that has its votes and writes the Settlement; the verdict
comes from kinds/deciding.judge through votes.verdict_on.
"""
