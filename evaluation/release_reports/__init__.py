"""The page of a release: its report, beside that of another, and how to publish it."""
