"""Background work: the Job table, uploads that wait for a job, and the store of image files.
Imports db and models.
"""
