"""Promptable segmentation: embeds an image, decodes a click, box or stroke to an outline.

Pure: files and numbers, no campaign, no Django. docs/explanation/part-campaigns.md.
"""
