"""Who labels what next: pages of seats, candidates by lane, gold mixed in, quotas, counters."""
