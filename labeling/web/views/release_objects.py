"""The objects of a release with their parts over the photographs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.formats.label import ExportContext
from labeling.formats.pictures import REST_COLOUR, colour, middle, places_of
from labeling.geometry.svg import path_data, view_box
from labeling.image_files import THUMBNAIL_PX
from labeling.models import Campaign, Item, Question, Release
from labeling.parts import background
from labeling.parts.model import REST_OBJECT, STATES, Part, PartedObject
from labeling.release_files import frozen, frozen_objects, line_index
from labeling.release_files.frozen_objects import UNKNOWN, Categories, CategoryTally, ObjectLine
from labeling.releases import freezing
from labeling.web.views.shared import SignedIn, own_campaign, query_of, render_campaign

PAGE_SIZE = 12
WORDS = {
    "drawn": "drawn",
    "not_visible": "not visible",
    "occluded": "occluded",
    UNKNOWN: "not labeled",
}
ORIGINS = {"explicit": "", "given": "given"}
# Width of a tile. A thumbnail is used only if the object is at least this wide in it.
TILE_PX = 200


@dataclass(frozen=True)
class StateBar:
    """The share of parts in one state, as an SVG rectangle; the full width is 100."""

    state: str
    x: str
    width: str


@dataclass(frozen=True)
class PartStateRow:
    """Counts of parts by state, of the category `key`; of one part if `key` is empty."""

    name: str
    key: str
    counts: list[int]
    known_before: int
    bars: list[StateBar]


@dataclass(frozen=True)
class TilePart:
    """A part in a tile and its legend. path: empty if nothing is drawn. x, y: of its number."""

    number: int
    name: str
    label: str
    colour: str = ""
    path: str = ""
    x: str = ""
    y: str = ""


@dataclass(frozen=True)
class ReleaseTile:
    """An object of the release.

    small: the thumbnail suffices. text: font size of numbers. rest: path of what no part covers.
    """

    parted: PartedObject
    category: str
    item: Item | None
    small: bool
    view: str
    text: str
    rest: str
    shapes: list[TilePart]
    parts: list[TilePart]


@require_GET
def release_objects(request: SignedIn, name: str, number: int) -> HttpResponse:
    """Show the objects of a release with their parts, and counts of parts by state."""
    campaign = own_campaign(request, name)
    release = freezing.release_for(campaign, number)
    meta, objects = _read(release)
    categories: Categories = meta["campaign"]["settings"].get("categories", {})
    there = [{"key": key, "name": categories[key]["name"]} for key in meta.get("parts", {})]
    category = request.GET.get("category", "")
    chosen = category if category in objects else ""
    if len(there) == 1:
        chosen = there[0]["key"]
    page = Paginator(objects[chosen], PAGE_SIZE).get_page(request.GET.get("page"))
    return render_campaign(
        request,
        "labeling/release_objects.html",
        campaign,
        "releases",
        release=release,
        categories=there,
        chosen=chosen,
        chosen_name=categories[chosen]["name"] if chosen else "",
        rows=_rows(meta.get("parts", {}), categories, chosen),
        states=[{"key": key, "words": words} for key, words in WORDS.items()],
        tiles=_tiles(campaign, categories, list(page.object_list)),
        page_obj=page,
        query=query_of(request),
        rest_colour=REST_COLOUR,
    )


def _read(release: Release) -> tuple[frozen.Head, Mapping[str, Sequence[ObjectLine]]]:
    """Return release.json and the objects by category; no objects in a campaign without parts.

    Raises Refusal if files are missing or changed.
    """
    folder = freezing.folder_of(release)
    try:
        meta = frozen.head(folder, release.sha256)
        stated = meta["files"].get("objects.jsonl")
        path = folder / "objects.jsonl"
        objects = line_index.by_category(path, stated["sha256"]) if stated else None
    except BadInput:
        raise Refusal(
            "The files of this release are not on this server, or were changed after it was "
            "frozen. Freeze it again."
        ) from None
    return meta, objects or {"": ()}


def _rows(
    counted: dict[str, CategoryTally], categories: Categories, chosen: str
) -> list[PartStateRow]:
    """Count parts by state: for each part of the chosen category, else for each category."""
    if not chosen:
        return [
            _row(categories[key]["name"], list(tally["parts"].values()), key)
            for key, tally in counted.items()
        ]
    names = {part["key"]: part["name"] for part in categories[chosen]["parts"]}
    parts = counted[chosen]["parts"] if chosen in counted else {}
    return [_row(names.get(key, key), [states]) for key, states in parts.items()]


def _row(name: str, counts: list[dict[str, int]], key: str = "") -> PartStateRow:
    states = {state: sum(count[state] for count in counts) for state in WORDS}
    total = sum(states.values()) or 1
    bars, start = [], 0.0
    for state, count in states.items():
        width = round(100 * count / total, 3)
        bars.append(StateBar(state, f"{start:g}", f"{width:g}"))
        start += width
    known_before = sum(count["given"] for count in counts)
    return PartStateRow(name, key, list(states.values()), known_before, bars)


def _tiles(
    campaign: Campaign, categories: Categories, lines: Sequence[ObjectLine]
) -> list[ReleaseTile]:
    """Return the tiles of these objects."""
    names = {
        key: {part["key"]: part["name"] for part in category["parts"]}
        for key, category in categories.items()
    }
    release_info = ExportContext("", {key: row["name"] for key, row in categories.items()}, names)
    items = _items(campaign, lines)
    tiles = []
    for line in lines:
        known = frozen_objects.to_parted_object(line, names.get(line["category"], {}))
        item = items.get((line["image"], line["object"]))
        tiles.append(_tile(background.with_rest(known), line["unknown"], item, release_info))
    return tiles


def _items(campaign: Campaign, lines: Sequence[ObjectLine]) -> dict[tuple[str, str], Item]:
    """Return (image, name) → item of these lines, with the ids of their questions."""
    rows = Item.objects.filter(
        image__dataset=campaign.dataset_id,
        image__name__in=[line["image"] for line in lines],
        name__in=[line["object"] for line in lines],
    ).select_related("image")
    question_rows = campaign.questions.filter(item=OuterRef("pk")).exclude(
        state=Question.State.GOLD
    )
    question_items = rows.annotate(asked=Subquery(question_rows.order_by("round").values("pk")[:1]))
    return {(item.image.name, item.name): item for item in question_items}


def _tile(
    parted: PartedObject, unknown: list[str], item: Item | None, release_info: ExportContext
) -> ReleaseTile:
    places, names = places_of(parted, release_info), release_info.parts.get(parted.category, {})
    crop = parted.crop or parted.box
    longest = max(item.image.width, item.image.height) if item else 1
    seen = max(crop[2] - crop[0], crop[3] - crop[1]) * min(1, THUMBNAIL_PX / longest)
    parts = [_part(part, places[part.key], names) for part in parted.parts if part.key in places]
    unknown_parts = [
        TilePart(places[key] + 1, names.get(key, key), WORDS[UNKNOWN]) for key in unknown
    ]
    return ReleaseTile(
        parted=parted,
        category=release_info.classes.get(parted.category, parted.category),
        item=item,
        small=seen >= TILE_PX,
        view=view_box(crop),
        # A sixteenth of the tile, in pixels of the image.
        text=f"{max(crop[2] - crop[0], crop[3] - crop[1]) / 16:g}",
        rest="".join(path_data(p.polygons) for p in parted.parts if p.key == REST_OBJECT),
        shapes=[part for part in parts if part.path],
        parts=parts + unknown_parts,
    )


def _part(part: Part, index: int, names: dict[str, str]) -> TilePart:
    x, y = middle(part.polygons) if part.polygons else (0.0, 0.0)
    label = ORIGINS[part.origin] if part.state == STATES[0] else WORDS[part.state]
    return TilePart(
        number=index + 1,
        name=names.get(part.key, part.key),
        label=label,
        colour=colour(index),
        path=path_data(part.polygons),
        x=f"{x:g}",
        y=f"{y:g}",
    )
