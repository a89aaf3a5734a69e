"""The outcomes of single images: cases, index, overlays, pages."""
