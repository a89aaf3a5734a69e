"""Read-only figures and lists for pages and the API. Writes nothing."""
