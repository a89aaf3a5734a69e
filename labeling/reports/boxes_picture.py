"""Boxes over a photograph, for pages without scripts or with people's answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from labeling.boxes.chain import CHECK, DRAW
from labeling.geometry.boxes import Box
from labeling.kinds import KINDS
from labeling.kinds.boxes import CLICKS
from labeling.models import Question
from labeling.plurals import count_of

# The parts of a question's content that its page shows.
PAGE_KEYS = ("boxes", "box", "came", "flags", "rejected", "at")
# The flags of a box: (value, label, key, meaning).
FLAGS = (
    ("truncated", _("Truncated"), "t", _("it extends beyond the image")),
    ("occluded", _("Occluded"), "o", _("something in front hides a part of it")),
    ("difficult", _("Difficult"), "d", _("hard to recognize, even close up")),
    ("group", _("Group"), "m", _("many that cannot be told apart; one box around all of them")),
)
Sides = list[float]


def flag_rows() -> list[dict[str, str]]:
    """Return {"value", "label", "key", "means"} of each flag."""
    return [
        {"value": value, "label": gettext(label), "key": key, "means": gettext(means)}
        for value, label, key, means in FLAGS
    ]


class ShownRejection(TypedDict):
    """The last attempt at an instance, and its faults."""

    box: Sides
    reason: str
    sides: list[str]


class ShownStep(TypedDict):
    """Contents of a step's page: the step, the image size in upright pixels, boxes and points."""

    step: str
    width: int
    height: int
    boxes: list[Sides]
    box: NotRequired[Sides]
    came: NotRequired[str]
    flags: NotRequired[list[str]]
    rejected: NotRequired[ShownRejection]
    at: NotRequired[Sides]


@dataclass(frozen=True)
class BoxLayer:
    """Boxes of one style. look: a class of static/css/boxes.css. words: for the legend."""

    look: str
    boxes: Sequence[Sequence[float]]
    words: str = ""

    @property
    def d(self) -> str:
        """Return the path of all boxes in image pixels."""
        return "".join(f"M{x0:g} {y0:g}H{x1:g}V{y1:g}H{x0:g}Z" for x0, y0, x1, y1 in self.boxes)


@dataclass(frozen=True)
class Points:
    """Points of one style, each drawn as a dot."""

    look: str
    points: Sequence[Sequence[float]]
    words: str = ""

    @property
    def d(self) -> str:
        return "".join(f"M{x:g} {y:g}h0" for x, y in self.points)


@dataclass(frozen=True)
class BoxesPicture:
    """An image with boxes and points, for _boxes_picture.html. view: the visible box, by default
    all.
    """

    width: int
    height: int
    layers: Sequence[BoxLayer] = ()
    points: Sequence[Points] = ()
    label: str = ""
    view: Box | None = None

    @property
    def legend(self) -> list[BoxLayer | Points]:
        """Return the layers and points that have words."""
        rows: list[BoxLayer | Points] = [*self.layers, *self.points]
        return [row for row in rows if row.words and row.d]

    @property
    def view_box(self) -> str:
        x0, y0, x1, y1 = self.view or (0, 0, self.width, self.height)
        return f"{x0:g} {y0:g} {x1 - x0:g} {y1 - y0:g}"


def shows(question: Question) -> ShownStep:
    """Return the contents of a question's page."""
    content = question.content or {}
    image = question.item.image
    page: ShownStep = {
        "step": question.step,
        "width": image.width,
        "height": image.height,
        "boxes": [],
    }
    page.update({key: content[key] for key in PAGE_KEYS if key in content})  # type: ignore[typeddict-item]
    return page


def heading(page: ShownStep) -> str:
    """Return the key of the heading in templates/annotator/kinds/boxes.html."""
    if page["step"] != DRAW:
        return page["step"]
    if "rejected" in page:
        return "draw again"
    if "at" in page:
        return "draw there"
    return "draw more" if page["boxes"] else "draw"


def picture(
    page: ShownStep, more: Iterable[BoxLayer] = (), points: Iterable[Points] = (), label: str = ""
) -> BoxesPicture:
    """Return the image with the contents of its page and further layers."""
    layers = [BoxLayer("standing", page["boxes"], gettext("accepted boxes"))]
    if page["step"] == DRAW and "rejected" in page:
        layers.append(BoxLayer("rejected", [page["rejected"]["box"]], gettext("sent back")))
    if page["step"] == CHECK and "box" in page:
        layers.append(BoxLayer("checked", [page["box"]], gettext("the box to check")))
    places = list(points)
    if "at" in page:
        places.append(Points("at", [page["at"]], gettext("reported here")))
    return BoxesPicture(
        page["width"],
        page["height"],
        [*layers, *more],
        places,
        label or gettext("The image in question"),
    )


# Labels of the flags and sides in answers.
WORDS = {
    "truncated": _("truncated"),
    "occluded": _("occluded"),
    "difficult": _("difficult"),
    "group": _("group"),
    "left": _("left"),
    "top": _("top"),
    "right": _("right"),
    "bottom": _("bottom"),
}


def _labels_of(value: Mapping[str, Any]) -> list[str]:
    """Return the labels of the box's flags."""
    return [gettext(WORDS[flag]) for flag in value.get("flags", ())]


def words_of(value: Any, labels: Mapping[str, str]) -> str:
    """Return an answer of any step in words. labels: of the kind, by tally name."""
    word = KINDS["boxes"].tally_name(value)
    if isinstance(value, dict) and "state" in value:
        return f"{labels.get(word, word)}, {count_of(len(value['boxes']), 'box', 'boxes')}"
    if word == "box":
        how = gettext("A box, clicked") if value.get("how") == CLICKS else gettext("A box, dragged")
        return ", ".join([how, *_labels_of(value)])
    if word == "missing":
        return gettext("%(count)s missing") % {"count": len(value["missing"])}
    label = labels.get(word, word)
    if not isinstance(value, dict):
        return label
    if "box" in value:
        return ", ".join([gettext("%(answer)s, corrected") % {"answer": label}, *_labels_of(value)])
    sides = [gettext(WORDS[side]) for side in value.get("sides", ())]
    return f"{label}: {', '.join(sides)}" if sides else label
