"""Gold, training, monitoring, blocks, audits, pilots and memberships of a campaign."""
