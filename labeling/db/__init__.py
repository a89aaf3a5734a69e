"""SQL that SQLite and PostgreSQL write differently, row locks and retried transactions. Imports
models.
"""
