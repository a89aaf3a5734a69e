"""A promptable network beside people who draw: whose it is, what it has seen, whom it helps,
and what it proposed."""
