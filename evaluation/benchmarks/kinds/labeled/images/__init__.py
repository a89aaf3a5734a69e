"""Outcomes of single images: cases, index, overlays, pages."""
