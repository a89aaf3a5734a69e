"""Gold, training, monitoring, blocks, audits, pilots and the members of a campaign."""
