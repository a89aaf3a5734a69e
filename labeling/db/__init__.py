"""SQL that differs between SQLite and PostgreSQL, row locks, retried transactions, question
counters and cached figures. Imports models.
"""
