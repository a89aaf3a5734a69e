"""MAD competitions: a campaign on a selection of images, scored as ranks."""
