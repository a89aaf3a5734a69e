"""Localization error and average precision of boxes, bootstrap, scales, matched bins of classes."""
