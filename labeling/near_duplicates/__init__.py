"""Near-duplicate images: fingerprints, search, and the choice of which to keep. Pure."""
