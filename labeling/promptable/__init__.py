"""Promptable segmentation: an image's embedding, and the outline that a decoder makes of a click, a
box or a stroke. Pure: files and numbers, no campaign, no Django.
docs/explanation/part-campaigns.md."""
