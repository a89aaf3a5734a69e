"""Scores of weakly supervised object localization: boxes and masks of score maps."""
