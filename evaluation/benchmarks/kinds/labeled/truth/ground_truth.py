"""Ground truth from a frozen release: the files that `score KIND` reads. No database.

Undecided labels are left out and counted. Boxes are in pixels, x1 and y1 exclusive unless
`inclusive` is set.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.kinds.labeled.truth.csv_writer import Sheets
from evaluation.benchmarks.kinds.labeled.truth.part_cues import CUES, PartCues
from evaluation.benchmarks.kinds.labeled.truth.scenes import Box, LabeledScene, has_parts, scenes
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import WsolFolder
from labeling.csv_rows import nfc
from labeling.errors import Refusal
from labeling.plurals import count_of
from labeling.records import Record
from labeling.release_files.frozen import Frozen

CLASSIFICATION, LOCALIZATION, DETECTION, WSOL = KINDS = (
    "classification",
    "localization",
    "detection",
    "wsol",
)
TRUTH, IMAGES, EXCLUDED = "truth.csv", "images.csv", "excluded.csv"
BOXED = ("image", "wnid", "x0", "y0", "x1", "y1")
SIZE_COLUMNS = ("image", "width", "height")
# Why an image is left out of the truth.
SEVERAL_CLASSES = "several classes are in it"
NO_CLASS = "no class is in it"
UNKNOWN = "no class is known to be in it"
NO_BOX = "its class has no box"
MISSING_BOXES = "not every instance of its class is known to have a box of its own"


@dataclass(kw_only=True)
class LeftOutReason(Record):
    why: str
    images: int


@dataclass(kw_only=True)
class ReleaseName(Record):
    campaign: str
    sha256: str
    number: int | None


@dataclass(kw_only=True)
class TruthCounts(Record):
    """Counts of a truth. objects: boxes; 0 for classification. masks: whether there are any.
    release: set only by commands.
    """

    release: ReleaseName | None = None
    images: int
    classes: int
    objects: int
    masks: bool
    left_out: list[LeftOutReason]
    notes: list[str]


def write(
    frozen: Frozen,
    kind: str,
    folder: Path,
    inclusive: bool = False,
    part: Collection[str] | None = None,
) -> TruthCounts:
    """Write what `score KIND` reads into an existing folder and return the counts.

    classification: truth.csv (image,wnid). localization: truth.csv (image,wnid,x0,y0,x1,y1) and
    images.csv (image,width,height). detection: these, including images without objects, and
    excluded.csv (image,wnid) of pairs that are undecided or may lack a box. inclusive: x1 and y1
    are the last pixel. wsol: the folder layout of WSOL; for releases with parts also cues.csv and
    masks/ (the same layout with masks). part: names in NFC of the images to use; None for all.
    Raises Refusal if the release has nothing of this kind.
    """
    return _made(frozen, kind, folder, inclusive, part)


def count(frozen: Frozen, kind: str, part: Collection[str] | None = None) -> TruthCounts:
    """Return the counts that `write` would return. Raises as `write` does."""
    return _made(frozen, kind, None, False, part)


def _made(
    frozen: Frozen, kind: str, folder: Path | None, inclusive: bool, part: Collection[str] | None
) -> TruthCounts:
    tally = TruthTally()
    with Sheets(folder) as sheets:
        take = _taker(frozen, kind, folder, sheets, tally, inclusive)
        for scene in scenes(frozen, with_objects=kind == WSOL and folder is not None):
            if part is not None and nfc(scene.photo.name) not in part:
                continue
            tally.unboxed += scene.unboxed if kind != CLASSIFICATION else 0
            take(scene)
        if kind == WSOL:
            for row in tally.cues.rows():
                sheets.row(CUES, *row)
    _check(frozen, kind, tally)
    return tally.counts(frozen)


class TruthTally:
    """Counts collected over the images."""

    def __init__(self) -> None:
        self.images = self.objects = self.masks = 0
        self.classes: set[str] = set()
        self.left_out: Counter[str] = Counter()
        # undecided: kept images with another undecided class. excluded: pairs that detection leaves
        # out. lacking: images with such pairs. unsettled: unsettled objects in kept images.
        self.undecided = self.excluded = self.lacking = self.unsettled = 0
        # Objects whose row had no box.
        self.unboxed = 0
        # Parts as cues of classes (wsol).
        self.cues = PartCues()

    def the_class(self, scene: LabeledScene, boxed: bool) -> str | None:
        """Return the image's only class, or None after counting why the image is left out.

        boxed: the class also needs a box.
        """
        if len(scene.boxes) != 1:
            unknown = UNKNOWN if scene.undecided else NO_CLASS
            self.left_out[SEVERAL_CLASSES if scene.boxes else unknown] += 1
            return None
        [key] = scene.boxes
        if boxed and (not scene.boxes[key] or key in scene.partial):
            self.left_out[MISSING_BOXES if scene.boxes[key] else NO_BOX] += 1
            return None
        self.images += 1
        self.classes.add(key)
        self.undecided += bool(scene.undecided)
        if boxed:
            self.objects += len(scene.boxes[key])
            self.unsettled += sum(map(len, scene.unsettled.values()))
        return key

    def counts(self, frozen: Frozen) -> TruthCounts:
        return TruthCounts(
            images=self.images,
            classes=len(self.classes),
            objects=self.objects,
            masks=bool(self.masks),
            left_out=[
                LeftOutReason(why=why, images=self.left_out[why])
                for why in (SEVERAL_CLASSES, NO_CLASS, UNKNOWN, NO_BOX, MISSING_BOXES)
                if self.left_out[why]
            ],
            notes=self._notes(frozen),
        )

    def _notes(self, frozen: Frozen) -> list[str]:
        """Return what a reader of the figures must know about the truth."""
        waiting = frozen.meta["counts"]["open"] + frozen.meta["counts"]["review"]
        ignored = ", and in masks they are ignored" if self.masks else ""
        counted = (
            (
                waiting,
                ("question was", "questions were"),
                "open when the release was frozen and missing from the ground truth",
            ),
            (
                self.undecided,
                ("image is", "images are"),
                "kept although it is unknown whether further classes apply",
            ),
            (
                self.excluded,
                ("pair of image and class is", "pairs of image and class are"),
                "left out, because the class is not settled or some of its objects have no box; "
                f"{self.lacking:,} of {count_of(self.images, 'image')} are scored without them",
            ),
            (
                self.unboxed,
                ("object is", "objects are"),
                "without ground truth: imported without a box, and none was drawn",
            ),
            (
                self.unsettled,
                ("object was", "objects were"),
                "asked about but not settled: the ground truth lacks their boxes" + ignored,
            ),
        )
        return [f"{count_of(number, *forms)} {words}" for number, forms, words in counted if number]


def _taker(
    frozen: Frozen,
    kind: str,
    folder: Path | None,
    sheets: Sheets,
    tally: TruthTally,
    inclusive: bool,
) -> Callable[[LabeledScene], None]:
    """Return the function that adds one image of the kind."""
    if kind == CLASSIFICATION:
        return _Classification(sheets, tally)
    if kind == LOCALIZATION:
        return _Localization(sheets, tally, inclusive)
    if kind == DETECTION:
        return _Detection(sheets, tally, inclusive)
    assert kind == WSOL, kind
    return _Wsol(WsolFolder(sheets, folder, has_parts(frozen)), tally)


class _Classification:
    def __init__(self, sheets: Sheets, tally: TruthTally) -> None:
        self.sheets, self.tally = sheets, tally
        sheets.row(TRUTH, "image", "wnid")

    def __call__(self, scene: LabeledScene) -> None:
        key = self.tally.the_class(scene, boxed=False)
        if key is not None:
            self.sheets.row(TRUTH, scene.photo.name, key)


class _Boxed:
    def __init__(self, sheets: Sheets, tally: TruthTally, inclusive: bool) -> None:
        self.sheets, self.tally, self.inclusive = sheets, tally, inclusive
        sheets.row(TRUTH, *BOXED)
        sheets.row(IMAGES, *SIZE_COLUMNS)

    def write(self, scene: LabeledScene, key: str) -> None:
        for box in scene.boxes[key]:
            corners = last_pixel(box) if self.inclusive else box
            self.sheets.row(TRUTH, scene.photo.name, key, *corners)

    def size(self, scene: LabeledScene) -> None:
        self.sheets.row(IMAGES, scene.photo.name, scene.photo.width, scene.photo.height)


class _Localization(_Boxed):
    def __call__(self, scene: LabeledScene) -> None:
        key = self.tally.the_class(scene, boxed=True)
        if key is not None:
            self.size(scene)
            self.write(scene, key)


class _Detection(_Boxed):
    def __init__(self, sheets: Sheets, tally: TruthTally, inclusive: bool) -> None:
        super().__init__(sheets, tally, inclusive)
        sheets.row(EXCLUDED, "image", "wnid")

    def __call__(self, scene: LabeledScene) -> None:
        self.size(scene)
        self.tally.images += 1
        self.tally.unsettled += sum(map(len, scene.unsettled.values()))
        # With missing boxes, correct detections of a class would count as wrong.
        lacking = scene.unsettled.keys() | {key for key, boxes in scene.boxes.items() if not boxes}
        excluded = scene.undecided | lacking | scene.partial
        for key in sorted(excluded):
            self.sheets.row(EXCLUDED, scene.photo.name, key)
        self.tally.excluded += len(excluded)
        self.tally.lacking += bool(excluded)
        for key in sorted(scene.boxes.keys() - excluded):
            self.write(scene, key)
            self.tally.classes.add(key)
            self.tally.objects += len(scene.boxes[key])


class _Wsol:
    def __init__(self, folder: WsolFolder, tally: TruthTally) -> None:
        self.folder, self.tally = folder, tally

    def __call__(self, scene: LabeledScene) -> None:
        self.tally.cues.add(scene)
        key = self.tally.the_class(scene, boxed=True)
        if key is not None:
            self.tally.masks += self.folder.add(scene, key)


def last_pixel(box: Box) -> Box:
    """Return the box with x1, y1 as its last pixel; a side thinner than a pixel is one long."""
    x0, y0, x1, y1 = box
    return x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)


def _check(frozen: Frozen, kind: str, tally: TruthTally) -> None:
    """Raise Refusal if there is nothing to score."""
    title, number = frozen.meta["campaign"]["title"], frozen.meta.get("number")
    name = f"Release {number} of {title}" if number else f"This release of {title}"
    if kind != CLASSIFICATION and not tally.objects:
        raise Refusal(
            f"{name} has no box of an object, so it can be the truth of a classification only. "
            "Choose that, or a campaign whose labels have boxes.",
            field="kind",
        )
    if not tally.images:
        raise Refusal(
            f"{name} has no image of which exactly one class is known to be in it. Let people "
            "answer more, or choose another campaign.",
            field="campaign",
        )
