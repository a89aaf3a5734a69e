"""Weakly supervised object localization: score maps against boxes and masks."""
