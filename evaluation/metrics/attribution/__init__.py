"""Score maps of a classifier: CAM and gradients. Needs torch."""
