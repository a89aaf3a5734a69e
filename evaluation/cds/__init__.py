"""The CDS benchmark: objects revealed part by part, and how early classifiers know them."""
