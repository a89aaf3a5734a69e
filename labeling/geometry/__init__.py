"""Pure functions on polygons, masks, contours and alpha shapes, and what draws them as SVG or PNG.
No Django.
"""
