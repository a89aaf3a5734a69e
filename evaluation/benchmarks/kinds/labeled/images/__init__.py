"""What a run says of single images: outcomes, indexes, overlays, pages."""
