"""What users rely on, kept as files and compared: commands, addresses, the API, stored results.

A difference is a break of docs/ or FORMATS until somebody says otherwise. Where it is meant,
`ASSAY_RECORD=1 pytest tests/contract` writes the files anew, and the commit says why.
"""
