"""Images that look the same: fingerprints, like pairs among many, which one is kept. Pure."""
