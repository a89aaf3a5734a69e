"""Opening networks and running them on images. Needs torch; no Django."""
