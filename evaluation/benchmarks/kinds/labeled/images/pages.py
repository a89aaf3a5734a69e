"""Context of the pages about images: cards of the images of a number, and one large image."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import class_names, paths, running
from evaluation.benchmarks.kinds.labeled.images import (
    box_overlays,
    image_index,
    outcomes,
    predictions,
)
from evaluation.benchmarks.kinds.labeled.images.image_index import ImageIndex
from evaluation.benchmarks.kinds.labeled.images.outcomes import ImageQuery
from evaluation.benchmarks.kinds.labeled.images.predictions import PredictionIndex
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import WSOL
from evaluation.models import Benchmark, Run, Submission
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.models import Image
from labeling.reports.image_browser import PredictionFilter
from labeling.reports.image_page import ImageUse

PAGE_SIZE = 24
IMAGES_GONE = "The images of this run are no longer on this server. Score the benchmark again."


@dataclass(frozen=True)
class SizedPhotograph:
    """A photograph's size in pixels and address; "" if it has left the dataset."""

    width: float
    height: float
    url: str

    def letters(self, share: float) -> float:
        """Return the height of a label in pixels."""
        return share * max(self.width, self.height)


@dataclass(frozen=True)
class Tab:
    """A case with its number of images."""

    case: outcomes.Case
    images: int
    query: str
    is_shown: bool


@dataclass(frozen=True)
class Viewed:
    """The run, the query and the class names of one page."""

    row: Benchmark
    run: Run
    selection: ImageQuery
    name: class_names.Namer

    @cached_property
    def with_maps(self) -> frozenset[str]:
        """Return the classifiers whose score maps of the run still exist."""
        if self.row.kind != WSOL:
            return frozenset()
        submissions = self.row.submissions.all()
        return frozenset(row.name for row in submissions if _scored_folder(row, self.run))

    def address(self, number: int) -> str:
        """Return the address of an image's page within this query."""
        path = reverse("evaluation:labeled_image", args=[self.row.name, self.run.pk, number])
        return f"{path}?{self.selection.query()}"

    def map_address(self, number: int, classifier: str | None = None) -> str | None:
        """Return the address of an image's score map; None if there is none.

        classifier: by default the one of the query.
        """
        classifier = classifier or self.selection.classifier
        if classifier not in self.with_maps:
            return None
        path = reverse("evaluation:labeled_map", args=[self.row.name, self.run.pk, number])
        return f"{path}?{urlencode({'classifier': classifier})}"


def index_of(row: Benchmark, run: Run) -> ImageIndex:
    """Return the index of the run's images. Raises Refusal if the file is missing."""
    try:
        return image_index.index(running.images_path(row, run.pk), row.kind)
    except BadInput:
        raise Refusal(IMAGES_GONE) from None


def asked_in(index: ImageIndex, query: Mapping[str, str]) -> ImageQuery:
    """Return the query's choices; the first available one replaces an unknown one."""
    classifier = _known(query.get("classifier", ""), index.classifiers)
    numbers = {entry.key: entry for entry in _numbers(index, classifier)}
    number = _known(query.get("number", ""), list(numbers))
    case = query.get("case", "")
    name = query.get("class", "")
    keys = [known_case.key for known_case in numbers[number].cases] if number else []
    return ImageQuery(
        classifier,
        number,
        case if case in keys else "",
        name if name in index.names else "",
    )


def _known(value: str, known: Sequence[str]) -> str:
    return value if value in known else (known[0] if known else "")


def _numbers(index: ImageIndex, classifier: str) -> list[outcomes.Number]:
    return index.numbers(classifier) if classifier else []


def images(row: Benchmark, run: Run, query: Mapping[str, str]) -> dict[str, object]:
    """Return a page of the images that match the query, with the number of images per case."""
    index = index_of(row, run)
    selection = asked_in(index, query)
    viewed = Viewed(row, run, selection, class_names.namer(row))
    context: dict[str, object] = {
        "asked": selection,
        "choices": _choices(index, viewed),
        "kind": row.kind,
    }
    if not selection.number:
        return context | {"tabs": [], "cards": [], "page_obj": None}
    chosen = index.images(selection.classifier, selection.number, selection.case, selection.name)
    page = Paginator(chosen.tolist(), PAGE_SIZE).get_page(query.get("page"))
    lines = [(number, index.lines[number]) for number in page.object_list]
    photographs = _photographs(row, [line["image"] for _, line in lines])
    return context | {
        "tabs": _tabs(index, selection),
        "page_obj": page,
        "query": selection.query(),
        "cards": [
            _card(viewed, number, line, photographs.get(line["image"])) for number, line in lines
        ],
    }


def _choices(index: ImageIndex, viewed: Viewed) -> dict[str, object]:
    classifier = viewed.selection.classifier
    class_counts = index.class_counts(classifier) if classifier else []
    return {
        "classifiers": index.classifiers,
        "numbers": [(entry.key, entry.words) for entry in _numbers(index, classifier)],
        "classes": sorted(
            ((key, viewed.name(key), count) for key, count in class_counts),
            key=lambda row: row[1].casefold(),
        ),
    }


def _tabs(index: ImageIndex, selection: ImageQuery) -> list[Tab]:
    counts = index.counts(selection.classifier, selection.number, selection.name)
    every = outcomes.Case("", "all", "plain")
    return [
        Tab(case, counts[case.key], selection.query(case=case.key), case.key == selection.case)
        for case in (every, *_number(index.kind, selection).cases)
    ]


def _number(kind: str, selection: ImageQuery) -> outcomes.Number:
    return next(entry for entry in outcomes.NUMBERS[kind] if entry.key == selection.number)


def _card(
    viewed: Viewed, number: int, line: outcomes.OutcomesLine, image: Image | None
) -> dict[str, object]:
    kind, selection, name = viewed.row.kind, viewed.selection, viewed.name
    outcome = line["outcomes"].get(selection.classifier) or {}
    picture = _picture(viewed, number, line, image, is_small=True)
    letters = picture.letters(box_overlays.CARD_LETTERS)
    if selection.name:
        line, outcome = box_overlays.only(line, outcome, selection.name)
    card_outcome = box_overlays.shortened(outcome)
    verdicts = box_overlays.verdicts(kind, line, card_outcome, selection.number, name)
    return {
        "image": line["image"],
        "url": viewed.address(number),
        "classes": [name(key) for key in line["classes"]],
        "picture": picture,
        "letters": letters,
        "shapes": box_overlays.shapes(kind, line, card_outcome, selection.number, name, letters),
        "map": viewed.map_address(number),
        "verdicts": verdicts[: 2 * box_overlays.MAX_PER_CARD],
        "more": len(outcome.get("found") or ()) - len(card_outcome.get("found") or ()),
        "badges": _badges(kind, line, outcome, selection),
    }


def _badges(
    kind: str, line: outcomes.OutcomesLine, outcome: outcomes.Outcome, selection: ImageQuery
) -> list[outcomes.Case]:
    """Return the cases of the image; if a case has parts, only the parts."""
    number = _number(kind, selection)
    keys = {case for name, case in number.classify(line, outcome) if selection.name in ("", name)}
    there = [case for case in number.cases if case.key in keys]
    wholes = {case.within for case in there}
    return [case for case in there if case.key not in wholes]


def map_folder(row: Benchmark, run: Run, classifier: str) -> Path | None:
    """Return the folder of the score maps that the run scored; None if they were replaced."""
    submission = row.submissions.filter(name=classifier).first()
    return _scored_folder(submission, run) if submission else None


def _scored_folder(submission: Submission, run: Run) -> Path | None:
    scored = run.settings.get("signature", {}).get("submissions", ())
    if [submission.name, submission.sha256] not in [entry[:2] for entry in scored]:
        return None
    folder = paths.submission_path(submission)
    return folder if folder.is_dir() else None


def _photographs(row: Benchmark, names: Sequence[str]) -> dict[str, Image]:
    """Return the photographs of these names that are still in the dataset."""
    rows = row.campaign.dataset.images.filter(name__in=names)
    return {image.name: image for image in rows}


def _picture(
    viewed: Viewed, number: int, line: outcomes.OutcomesLine, image: Image | None, *, is_small: bool
) -> SizedPhotograph:
    if image is None:
        ends = [box[2:4] for box in line["truth"]] or [[1, 1]]
        width, height = (max(1.0, *(end[axis] for end in ends)) for axis in (0, 1))
        return SizedPhotograph(width, height, "")
    row = viewed.row
    if is_small:
        url = reverse("labeling:thumbnail", args=[row.campaign.dataset.name, image.pk])
    else:
        url = reverse("evaluation:labeled_photo", args=[row.name, viewed.run.pk, number])
    return SizedPhotograph(image.width, image.height, url)


def image(
    row: Benchmark, run: Run, number: int, query: Mapping[str, str]
) -> dict[str, object] | None:
    """Return one image with the outcome of every classifier; None for an unknown line."""
    index = index_of(row, run)
    if number >= len(index):
        return None
    selection = asked_in(index, query)
    line: outcomes.OutcomesLine = index.lines[number]
    viewed = Viewed(row, run, selection, class_names.namer(row))
    photograph = _photographs(row, [line["image"]]).get(line["image"])
    picture = _picture(viewed, number, line, photograph, is_small=False)
    letters = picture.letters(box_overlays.PAGE_LETTERS)
    outcome = line["outcomes"].get(selection.classifier) or {}
    context: dict[str, object] = {
        "asked": selection,
        "query": selection.query(),
        "kind": row.kind,
        "image": line["image"],
        "image_url": photograph
        and reverse("labeling:image", args=[row.campaign.dataset.name, photograph.pk]),
        "classes": [viewed.name(key) for key in line["classes"]],
        "picture": picture,
        "letters": letters,
        "shapes": box_overlays.shapes(
            row.kind, line, outcome, selection.number, viewed.name, letters
        ),
        "map": viewed.map_address(number),
    }
    if not selection.number:
        return context | {"ways": {}, "columns": []}
    chosen = index.images(selection.classifier, selection.number, selection.case, selection.name)
    return context | {
        "ways": _ways(viewed, image_index.around(chosen, number)),
        "case": next(tab for tab in _tabs(index, selection) if tab.is_shown),
        "columns": _columns(viewed, number, line),
        "following": _after(index.classifiers, selection),
    }


def uses_of_image(rows: Sequence[Benchmark], image: str) -> list[ImageUse]:
    """Return the verdicts of the newest result of each benchmark on the image."""
    image_uses = []
    for row in rows:
        if row.newest_run is None:
            continue
        try:
            index = image_index.index(running.images_path(row, row.newest_run), row.kind)
        except BadInput:
            continue
        number = index.find(image)
        if number is not None:
            run = Run(pk=row.newest_run, benchmark=row)
            viewed = Viewed(row, run, asked_in(index, {}), class_names.namer(row))
            words = _verdict_words(viewed, index.lines[number])
            image_uses.append(ImageUse(row.title, viewed.address(number), words))
    return image_uses


def images_predicted(
    rows: Sequence[Benchmark], names: Sequence[str], chosen: PredictionFilter
) -> set[str]:
    """Return those of the images with such a prediction in the newest result of a benchmark."""
    _, _, submission = chosen.submission.partition("/")
    matching: set[str] = set()
    for row in rows:
        if row.newest_run is None:
            continue
        try:
            index = predictions.index(running.images_path(row, row.newest_run), row.kind)
        except BadInput:
            continue
        classes = _class_numbers(index, class_names.namer(row), chosen.text)
        for classifier in [submission] if submission else index.classifiers:
            right = predictions.OUTCOMES.get(chosen.outcome)
            matching |= index.matching(names, classifier, classes, right)
    return matching


def _class_numbers(index: PredictionIndex, name: class_names.Namer, text: str) -> set[int] | None:
    """Return the numbers of the classes of this key or name; None for an empty text."""
    if not text:
        return None
    return {
        number
        for number, key in enumerate(index.names)
        if text.lower() in (key.lower(), name(key).lower())
    }


def _verdict_words(viewed: Viewed, line: outcomes.OutcomesLine) -> str:
    kind, number = viewed.row.kind, viewed.selection.number
    words = []
    for classifier, outcome in line["outcomes"].items():
        verdicts = box_overlays.verdicts(kind, line, outcome or {}, number, viewed.name)
        predicted = ", ".join(f"{row.name} ({row.tone})" for row in verdicts[:3])
        words.append(f"{classifier}: {predicted or 'nothing predicted'}")
    return "; ".join(words)


def _columns(viewed: Viewed, number: int, line: outcomes.OutcomesLine) -> list[dict[str, object]]:
    """Return the outcome of every classifier."""
    kind, selection = viewed.row.kind, viewed.selection
    return [
        {
            "classifier": classifier,
            "query": selection.query(classifier=classifier),
            "is_shown": classifier == selection.classifier,
            "map": viewed.map_address(number, classifier),
            "verdicts": box_overlays.verdicts(
                kind, line, outcome or {}, selection.number, viewed.name
            ),
            "badges": _badges(kind, line, outcome or {}, selection),
        }
        for classifier, outcome in line["outcomes"].items()
    ]


def _ways(viewed: Viewed, places: dict[str, int | None]) -> dict[str, object]:
    beside = {key: places[key] for key in ("previous", "next")}
    return places | {
        key: None if image_number is None else viewed.address(image_number)
        for key, image_number in beside.items()
    }


def _after(classifiers: Sequence[str], selection: ImageQuery) -> str | None:
    """Return the query of the next classifier (the first after the last); None if there is only
    one.
    """
    if len(classifiers) < 2:
        return None
    at = classifiers.index(selection.classifier)
    return selection.query(classifier=classifiers[(at + 1) % len(classifiers)])
