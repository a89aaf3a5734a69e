"""`score cds`: from sequences and predictions to CDS and every table. No Django."""
