"""ILSVRC's classification errors, and hp@k."""
