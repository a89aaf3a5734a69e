"""`score cds`: sequences and predictions → CDS and every table. No Django."""
