"""Choosing who labels what next: seats, candidates by lane, mixed-in gold, quotas, counters."""
