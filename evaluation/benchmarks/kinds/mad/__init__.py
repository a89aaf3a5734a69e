"""MAD competitions: a campaign on a selection, scored as ranks."""
