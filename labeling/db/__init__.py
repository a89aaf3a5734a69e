"""SQL that SQLite and PostgreSQL write differently, row locks, retried transactions, counters of
questions, costly figures that are kept a while. Imports models.
"""
