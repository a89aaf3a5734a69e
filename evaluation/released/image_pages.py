"""What the pages about single images show: those behind a number as cards, and one large."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from evaluation.models import Benchmark, Run
from evaluation.released import behind, cases, class_names, drawings, places, running
from evaluation.released.behind import Behind
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.models import Image

PAGE = 24
GONE = "The images of this run are not on this server any more. Score the benchmark again."


@dataclass(frozen=True)
class Asked:
    """Which images: of which classifier's number, case and class ("" for any)."""

    classifier: str
    number: str
    case: str = ""
    name: str = ""

    def query(self, **other: str) -> str:
        """For an address; what is "" is left out."""
        said = {
            "classifier": self.classifier,
            "number": self.number,
            "case": self.case,
            "class": self.name,
        } | {key.rstrip("_"): value for key, value in other.items()}
        return urlencode({key: value for key, value in said.items() if value})


def behind_of(row: Benchmark, run: Run) -> Behind:
    """The images of the run. Raises Refusal where their file is gone."""
    try:
        return behind.index(running.images_path(row, run.pk), row.kind)
    except BadInput:
        raise Refusal(GONE) from None


def asked_in(found: Behind, query: Mapping[str, str]) -> Asked:
    """What the address asks for; what it asks for in vain falls back to the first there is."""
    classifier = _known(query.get("classifier", ""), found.classifiers)
    numbers = {own.key: own for own in _numbers(found, classifier)}
    number = _known(query.get("number", ""), list(numbers))
    case = query.get("case", "")
    name = query.get("class", "")
    keys = [own.key for own in numbers[number].cases] if number else []
    return Asked(
        classifier,
        number,
        case if case in keys else "",
        name if name in found.names else "",
    )


def _known(wanted: str, known: Sequence[str]) -> str:
    return wanted if wanted in known else (known[0] if known else "")


def _numbers(found: Behind, classifier: str) -> list[cases.Number]:
    return found.numbers(classifier) if classifier else []


def images(row: Benchmark, run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of the images that the address asks for, with how many are in each case."""
    found = behind_of(row, run)
    asked = asked_in(found, query)
    name = class_names.namer(row)
    context = {"asked": asked, "choices": _choices(found, asked, name), "kind": row.kind}
    if not asked.number:
        return context | {"tabs": [], "cards": [], "page_obj": None, "classes": []}
    chosen = found.images(asked.classifier, asked.number, asked.case, asked.name)
    page = Paginator(chosen.tolist(), PAGE).get_page(query.get("page"))
    lines = [(number, found.lines[number]) for number in page.object_list]
    photographs = _photographs(row, [line["image"] for _, line in lines])
    return context | {
        "tabs": _tabs(found, asked),
        "page_obj": page,
        "query": asked.query(),
        "cards": [
            _card(row, run, number, line, asked, name, photographs) for number, line in lines
        ],
    }


def _choices(found: Behind, asked: Asked, name: class_names.Namer) -> dict[str, Any]:
    named = found.named(asked.classifier) if asked.classifier else []
    return {
        "classifiers": found.classifiers,
        "numbers": [(own.key, own.words) for own in _numbers(found, asked.classifier)],
        "classes": sorted(
            ((key, name(key), count) for key, count in named), key=lambda row: row[1].casefold()
        ),
    }


def _tabs(found: Behind, asked: Asked) -> list[dict[str, Any]]:
    counts = found.counts(asked.classifier, asked.number, asked.name)
    number = next(own for own in cases.NUMBERS[found.kind] if own.key == asked.number)
    every = cases.Case("", "all", "plain")
    return [
        {
            "case": case,
            "images": counts[case.key],
            "query": asked.query(case=case.key),
            "is_shown": case.key == asked.case,
        }
        for case in (every, *number.cases)
    ]


def _card(
    row: Benchmark,
    run: Run,
    number: int,
    line: cases.Line,
    asked: Asked,
    name: class_names.Namer,
    photographs: dict[str, Image],
) -> dict[str, Any]:
    outcome = line["outcomes"].get(asked.classifier) or {}
    picture = _picture(row, run, number, line, photographs.get(line["image"]), is_small=True)
    letters = drawings.CARD_LETTERS * max(picture["width"], picture["height"])
    if asked.name:
        line, outcome = drawings.only(line, outcome, asked.name)
    shown = drawings.shortened(outcome)
    said = drawings.said(row.kind, line, shown, asked.number, name)
    return {
        "number": number,
        "image": line["image"],
        "url": f"{_one(row, run, number)}?{asked.query()}",
        "classes": [name(key) for key in line["classes"]],
        "picture": picture,
        "letters": letters,
        "shapes": drawings.shapes(row.kind, line, shown, asked.number, name, letters),
        "map": _map_url(row, run, number, asked.classifier),
        "said": said[: drawings.MOST_ON_CARD],
        "more": len(outcome.get("found") or ()) - len(shown.get("found") or ()),
        "badges": _badges(row.kind, line, outcome, asked),
    }


def _badges(kind: str, line: cases.Line, outcome: cases.Outcome, asked: Asked) -> list[cases.Case]:
    """Into which cases of the number the image falls; of a case and its parts the parts."""
    number = next(own for own in cases.NUMBERS[kind] if own.key == asked.number)
    keys = {case for name, case in number.told(line, outcome) if asked.name in ("", name)}
    there = [case for case in number.cases if case.key in keys]
    told = {case.within for case in there}
    return [case for case in there if case.key not in told]


def _one(row: Benchmark, run: Run, number: int) -> str:
    return reverse("evaluation:released_image", args=[row.name, run.pk, number])


def _map_url(row: Benchmark, run: Run, number: int, classifier: str) -> str | None:
    """Where the score map is, if the classifier's maps are those that the run scored."""
    if row.kind != "wsol" or map_folder(row, run, classifier) is None:
        return None
    address = reverse("evaluation:released_map", args=[row.name, run.pk, number])
    return f"{address}?{urlencode({'classifier': classifier})}"


def map_folder(row: Benchmark, run: Run, classifier: str) -> Path | None:
    """The folder of the score maps that the run scored; None where others took their place."""
    submission = row.submissions.filter(name=classifier).first()
    said = run.settings.get("signature", {}).get("submissions", ())
    if submission is None or [classifier, submission.sha256] not in [own[:2] for own in said]:
        return None
    folder = places.submission_path(submission)
    return folder if folder.is_dir() else None


def _photographs(row: Benchmark, names: Sequence[str]) -> dict[str, Image]:
    """The photographs of these names, while the dataset still has them."""
    rows = row.campaign.dataset.images.filter(name__in=names)
    return {image.name: image for image in rows}


def _picture(
    row: Benchmark,
    run: Run,
    number: int,
    line: cases.Line,
    image: Image | None,
    *,
    is_small: bool,
) -> dict[str, Any]:
    """Its size in pixels, and its address; "" where the photograph left the dataset."""
    if image is None:
        ends = [box[2:4] for box in line["truth"]] or [[1, 1]]
        width, height = (max(1.0, *(end[axis] for end in ends)) for axis in (0, 1))
        return {"width": width, "height": height, "url": ""}
    if is_small:
        url = reverse("labeling:thumbnail", args=[row.campaign.dataset.name, image.pk])
    else:
        url = reverse("evaluation:released_photo", args=[row.name, run.pk, number])
    return {"width": image.width, "height": image.height, "url": url}


def image(row: Benchmark, run: Run, number: int, query: Mapping[str, str]) -> dict[str, Any] | None:
    """One image large, with what every classifier said; None where there is no such line."""
    found = behind_of(row, run)
    if number >= len(found):
        return None
    asked = asked_in(found, query)
    line = found.lines[number]
    name = class_names.namer(row)
    photograph = _photographs(row, [line["image"]]).get(line["image"])
    picture = _picture(row, run, number, line, photograph, is_small=False)
    letters = drawings.PAGE_LETTERS * max(picture["width"], picture["height"])
    outcome = line["outcomes"].get(asked.classifier) or {}
    context: dict[str, Any] = {
        "number": number,
        "asked": asked,
        "query": asked.query(),
        "kind": row.kind,
        "image": line["image"],
        "classes": [name(key) for key in line["classes"]],
        "picture": picture,
        "letters": letters,
        "shapes": drawings.shapes(row.kind, line, outcome, asked.number, name, letters),
        "map": _map_url(row, run, number, asked.classifier),
    }
    if not asked.number:
        return context | {"ways": {}, "columns": [], "badges": []}
    chosen = found.images(asked.classifier, asked.number, asked.case, asked.name)
    return context | {
        "ways": _ways(row, run, behind.around(chosen, number), asked),
        "case": next((own for own in _tabs(found, asked) if own["is_shown"]), None),
        "columns": [
            {
                "classifier": classifier,
                "query": asked.query(classifier=classifier),
                "is_shown": classifier == asked.classifier,
                "said": drawings.said(row.kind, line, told or {}, asked.number, name),
                "badges": _badges(row.kind, line, told or {}, asked),
            }
            for classifier, told in line["outcomes"].items()
        ],
        "following": _after(found.classifiers, asked),
    }


def _ways(row: Benchmark, run: Run, places: dict[str, int | None], asked: Asked) -> dict[str, Any]:
    beside = {
        key: f"{_one(row, run, place)}?{asked.query()}" if place is not None else None
        for key, place in places.items()
        if key in ("previous", "next")
    }
    return {"at": places["at"], "of": places["of"], **beside}


def _after(classifiers: Sequence[str], asked: Asked) -> str | None:
    """The query of the next classifier, after the last the first; None for a single one."""
    if len(classifiers) < 2:
        return None
    at = classifiers.index(asked.classifier)
    return asked.query(classifier=classifiers[(at + 1) % len(classifiers)])
