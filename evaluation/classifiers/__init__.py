"""Networks: opening them and running them on images. Needs torch; no Django."""
