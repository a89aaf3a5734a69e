"""Pure functions on polygons, masks, contours and alpha shapes; SVG and PNG output. No Django."""
