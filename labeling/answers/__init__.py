"""Submitting answers, keeping drafts, and how long an answer may be revised.

consensus/ settles the answers.
"""
