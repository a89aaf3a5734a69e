"""What users rely on, kept as files and compared: commands, addresses, the API, stored results.

A difference is a break of docs/ or FORMATS until somebody says otherwise. Where it is meant,
`ASSAY_RECORD=1 pytest tests/contract` rewrites the files, and the commit says why.
"""
