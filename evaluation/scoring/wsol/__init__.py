"""`score wsol`: score maps against ground truth. No Django."""
