"""`merge MASK.png MASK.png …`: merges pieces of one part into one contour, without a database."""

import math
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from labeling.bounded_numbers import real
from labeling.files import BadInput
from labeling.geometry import alpha_shapes, mask_png
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import mask_of
from labeling.management.contract import ContractCommand, Result, UsageError, refusals
from labeling.management.options import argument, option

_length = real(lambda value: 0 < value < math.inf, "above 0")


@dataclass(kw_only=True)
class MergeOptions:
    masks: list[Path] = argument(
        "of one size; a pixel is inside where it is not 0", nargs="+", metavar="MASK.png"
    )
    radius: float | None = option(
        "in pixels; default: the smallest that joins all pieces", type=_length
    )
    method: str = option(
        "radius: exact; alphashape: the package, which fills holes (default: radius)",
        "radius",
        choices=alpha_shapes.METHODS,
    )
    alpha: float | None = option(
        "1 / pixels, for --method alphashape; default: 1 / radius", type=_length
    )
    out: Path | None = option("the merged mask", metavar="MERGED.png")


class Command(ContractCommand):
    help = "Merge masks into one contour: their alpha shape at the smallest radius that joins "
    "them."

    def action(self, options: MergeOptions) -> Result:
        masks, radius, alpha, out = options.masks, options.radius, options.alpha, options.out
        if alpha is not None:
            if options.method != "alphashape":
                raise UsageError("--alpha requires --method alphashape")
            if radius is not None:
                raise UsageError("--alpha is 1 / radius; give --alpha or --radius, not both")
            radius = 1 / alpha
        pieces = [mask_png.read(path, settings.ASSAY_MAX_IMAGE_PIXELS) for path in masks]
        height, width = pieces[0].shape
        for path, piece in zip(masks, pieces, strict=True):
            if piece.shape != (height, width):
                raise BadInput(
                    f"is {piece.shape[1]} × {piece.shape[0]} pixels, {masks[0]} is "
                    f"{width} × {height}",
                    file=path,
                    cure="give masks of one photograph",
                )
        with refusals(masks[0]):
            merged = alpha_shapes.merge(pieces, radius, method=options.method)
        if merged.apart:
            self.warn(f"the pieces are not joined; they need radius {merged.joins_at:.6g}")
        if out is not None:
            mask_png.write(out, mask_of(merged.polygons, (0, 0, width, height)))
        if alpha is None and merged.radius is not None:
            alpha = 1 / merged.radius
        return {
            "method": options.method,
            **({"alpha": alpha} if options.method == "alphashape" else {}),
            "radius": merged.radius,
            "area": merged.area,
            "union_area": merged.union_area,
            "hull_area": merged.hull_area,
            "components": merged.components,
            "joins_at": merged.joins_at,
            "polygon": geojson(merged.polygons),
        }


def geojson(polygons: Polygons) -> dict[str, object]:
    """Return a Polygon, or a MultiPolygon of several, in pixels with y down; rings are closed."""
    pieces = [
        [[[int(x), int(y)] for x, y in (*ring, ring[0])] for ring in piece] for piece in polygons
    ]
    if len(pieces) == 1:
        return {"type": "Polygon", "coordinates": pieces[0]}
    return {"type": "MultiPolygon", "coordinates": pieces}
