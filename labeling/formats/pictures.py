"""Pictures to look at: a PNG per object, with coloured parts over the photograph and a legend.

Write-only. Twice as wide as a phone's 390 pixels, so that the legend is readable there. The index
of a part in its category sets its colour and number.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import shapely
from PIL import Image, ImageDraw, ImageFont

from labeling.files import BadInput
from labeling.formats.label import ExportContext
from labeling.formats.reading import MAX_PIXELS
from labeling.formats.sidecar import file_path
from labeling.geometry.polygons import Point, Polygons, Ring, to_shapely
from labeling.image_files import BadImage, upright
from labeling.parts.model import (
    REST_BACKGROUND,
    REST_OBJECT,
    Part,
    PartedObject,
    Photograph,
    Scenes,
)

# Sasha Trubetskoy's distinct colours, those that stand out on a photograph. Further parts reuse
# them.
COLOURS = (
    "#e6194b",
    "#3cb44b",
    "#4363d8",
    "#f58231",
    "#911eb4",
    "#42d4f4",
    "#f032e6",
    "#bfef45",
    "#469990",
    "#9a6324",
    "#ffe119",
    "#800000",
    "#fabed4",
    "#808000",
    "#dcbeff",
    "#000075",
)
REST_COLOUR = "#a9a9a9"
WIDTH_PX = 780
# Height limit, so that a tall object fits a screen.
HEIGHT_PX = 1040
MARGIN_PX = 20
TITLE_PX, TEXT_PX, SWATCH_PX, LINE_PX = 32, 28, 30, 42
FILL, EDGE = 140, 5
WORDS = {"not_visible": "Not visible", "occluded": "Occluded", "": "Nothing said of"}
PAPER, INK = "#ffffff", "#1b1b1b"


def write(scenes: Scenes, folder: Path, release_info: ExportContext) -> None:
    """Write pictures/<image>/<object>.png. Raises BadInput for a missing or unreadable
    photograph.
    """
    for photo, objects in scenes:
        if not objects:
            continue
        photograph = _photograph(photo)
        for number, parted in enumerate(objects, 1):
            goal = folder / "pictures" / file_path(photo.name)
            goal.mkdir(parents=True, exist_ok=True)
            picture = draw(parted, photograph, photo, release_info)
            path = goal / f"{file_path(parted.name or str(number))}.png"
            picture.save(path, "PNG", compress_level=3)


def colour(index: int) -> str:
    """Return the colour of the part with this index (from 0) in its category."""
    return COLOURS[index % len(COLOURS)]


def middle(polygons: Polygons) -> Point:
    """Return the position of a part's number: well inside its largest piece."""
    largest = max(shapely.get_parts(to_shapely(polygons)), key=lambda piece: piece.area)
    inside = shapely.point_on_surface(largest)
    return (inside.x, inside.y)


def _photograph(photo: Photograph) -> Image.Image:
    if photo.open is None:
        raise BadInput(
            f"the photograph {photo.name} is not at hand",
            cure="name the folder of the images: --images DIR",
        )
    try:
        with photo.open() as file:
            return upright(io.BytesIO(file.read()), max_pixels=MAX_PIXELS)
    except FileNotFoundError:
        raise BadInput(
            "the photograph is missing", file=photo.name, cure="copy it there under that name"
        ) from None
    except BadImage as bad:
        raise BadInput(
            f"cannot be drawn on: {bad}", file=photo.name, cure="replace it with the right file"
        ) from None


def draw(
    parted: PartedObject, photograph: Image.Image, photo: Photograph, release_info: ExportContext
) -> Image.Image:
    """Return the object's crop with its parts coloured, above a legend.

    photograph: upright, of any size; the parts are in pixels of `photo`.
    """
    places = places_of(parted, release_info)
    top = _Stage(parted, photograph, photo)
    # Draw borders first, so that they show in the parts' colours.
    for part in parted.parts:
        if part.key == REST_OBJECT:
            top.fill(part.polygons, REST_COLOUR)
    for part in parted.parts:
        if part.key in places and part.polygons:
            top.fill(part.polygons, colour(places[part.key]))
    for part in parted.parts:
        if part.key in places and part.polygons:
            top.number(part.polygons, places[part.key] + 1)
    legend = _legend(parted, places, release_info)
    picture = Image.new("RGB", (WIDTH_PX, top.image.height + legend.height), PAPER)
    picture.paste(top.image, ((WIDTH_PX - top.image.width) // 2, 0))
    picture.paste(legend, (0, top.image.height))
    return picture


def places_of(parted: PartedObject, release_info: ExportContext) -> dict[str, int]:
    """Return the index of each part in its category; unknown parts come last."""
    keys = dict.fromkeys(release_info.parts.get(parted.category, {}))
    keys |= dict.fromkeys(part.key for part in parted.parts if part.origin != "made")
    return {key: index for index, key in enumerate(keys)}


class _Stage:
    """The crop, scaled to the picture's width, with its drawing."""

    def __init__(self, parted: PartedObject, photograph: Image.Image, photo: Photograph) -> None:
        x0, y0, x1, y1 = parted.crop or parted.box
        ratio = photograph.width / photo.width, photograph.height / photo.height
        self.corner = (x0, y0)
        self.scale = min(WIDTH_PX / (x1 - x0), HEIGHT_PX / (y1 - y0))
        size = (max(1, round((x1 - x0) * self.scale)), max(1, round((y1 - y0) * self.scale)))
        box = (x0 * ratio[0], y0 * ratio[1], x1 * ratio[0], y1 * ratio[1])
        self.image = photograph.resize(size, Image.Resampling.BICUBIC, box=box)

    def fill(self, polygons: Polygons, tint: str) -> None:
        mask = Image.new("L", self.image.size)
        pen = ImageDraw.Draw(mask)
        for outer, *holes in polygons:
            pen.polygon(self._at(outer), fill=FILL)
            for hole in holes:
                pen.polygon(self._at(hole), fill=0)
        self.image.paste(tint, mask=mask)
        pen = ImageDraw.Draw(self.image)
        for ring in (ring for piece in polygons for ring in piece):
            corners = self._at(ring)
            pen.line([*corners, corners[0]], fill=tint, width=EDGE, joint="curve")

    def number(self, polygons: Polygons, number: int) -> None:
        [position] = self._at((middle(polygons),))
        ImageDraw.Draw(self.image).text(
            position,
            str(number),
            font=_font(TEXT_PX),
            fill="white",
            anchor="mm",
            stroke_width=4,
            stroke_fill="black",
        )

    def _at(self, ring: Ring) -> list[tuple[float, float]]:
        x0, y0 = self.corner
        return [((x - x0) * self.scale, (y - y0) * self.scale) for x, y in ring]


def _legend(
    parted: PartedObject, places: dict[str, int], release_info: ExportContext
) -> Image.Image:
    names = _names(parted, release_info)
    drawn = [part for part in parted.parts if part.key in places and part.polygons]
    rows: list[tuple[str, str]] = [
        (colour(places[part.key]), f"{places[part.key] + 1}  {names[part.key]}{_origin_note(part)}")
        for part in drawn
    ]
    if any(part.key == REST_OBJECT for part in parted.parts):
        rows.append((REST_COLOUR, "rest of the object"))
    lines = [line for sentence in _sentences(parted, places, names) for line in _wrapped(sentence)]
    name = release_info.classes.get(parted.category, parted.category)
    title = list(_wrapped(f"{name} · {parted.name} · {parted.image}", TITLE_PX))
    height = 3 * MARGIN_PX + LINE_PX * (len(title) + (len(rows) + 1) // 2 + len(lines))
    legend = Image.new("RGB", (WIDTH_PX, height), PAPER)
    pen = ImageDraw.Draw(legend)
    y = MARGIN_PX
    for line in title:
        pen.text((MARGIN_PX, y), line, font=_font(TITLE_PX), fill=INK)
        y += LINE_PX
    y += MARGIN_PX // 2
    for at, (tint, text) in enumerate(rows):
        x = MARGIN_PX + (at % 2) * WIDTH_PX // 2
        box = (x, y, x + SWATCH_PX, y + SWATCH_PX)
        pen.rectangle(box, fill=tint, outline=INK)
        pen.text((x + SWATCH_PX + 10, y), _cut(text), font=_font(TEXT_PX), fill=INK)
        y += LINE_PX if at % 2 or at == len(rows) - 1 else 0
    for line in lines:
        pen.text((MARGIN_PX, y), line, font=_font(TEXT_PX), fill=INK)
        y += LINE_PX
    return legend


def _names(parted: PartedObject, release_info: ExportContext) -> dict[str, str]:
    known = release_info.parts.get(parted.category, {})
    return known | {part.key: known.get(part.key) or part.name or part.key for part in parted.parts}


def _origin_note(part: Part) -> str:
    return " (given)" if part.origin == "given" else ""


def _sentences(
    parted: PartedObject, places: dict[str, int], names: dict[str, str]
) -> Iterator[str]:
    """Yield a sentence for each state of parts that are not drawn, and for unknown parts."""
    states = {part.key: part.state for part in parted.parts}
    for state, words in WORDS.items():
        part_names = [names[key] for key in places if states.get(key, "") == state]
        if part_names:
            yield f"{words}: {', '.join(part_names)}."
    if parted.outline is None and any(part.key == REST_BACKGROUND for part in parted.parts):
        yield "Its outline is not known, so its rest and the background are one region."


def _wrapped(text: str, size: int = TEXT_PX) -> Iterator[str]:
    """Wrap a text to the picture's width."""
    font, line = _font(size), ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font.getlength(longer) > WIDTH_PX - 2 * MARGIN_PX:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line


def _cut(text: str) -> str:
    font, room = _font(TEXT_PX), WIDTH_PX / 2 - SWATCH_PX - 2 * MARGIN_PX
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(f"{text}…") > room:
        text = text[:-1]
    return f"{text}…"


_FONTS: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    if size not in _FONTS:
        _FONTS[size] = ImageFont.load_default(size)
    return _FONTS[size]
