"""Context of the pages about single sequences: the list of objects, the viewer, the galleries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.urls import reverse

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import answer_index, pages, viewing
from evaluation.benchmarks.kinds.cds.answer_index import AnswerIndex, SequencePlace, Thing
from evaluation.benchmarks.kinds.cds.running import ANSWERS
from evaluation.metrics.cds.captchas import CaptchaRow
from evaluation.metrics.cds.hardness import HardnessRow
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import AnsweredSequence, CdsResult, ClassifierScores, FrameAnswer
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.geometry import crops
from labeling.geometry.svg import view_box
from labeling.image_files import THUMBNAIL_PX
from labeling.models import Item
from labeling.reports.image_page import ImageUse

PAGE_SIZE = 30
CAPTCHAS = 24
# Size of a tile on the page. Tiles use the thumbnail unless the object is smaller than this in it.
TILE_PX = 150
GALLERIES = ("easiest", "median", "hardest")
NOTHING = "nothing"
Query = Mapping[str, str]
Photographs = Mapping[tuple[str | None, str | None], Item]


@dataclass(frozen=True)
class ObjectRow:
    """An object in the list.

    number, line: its sequence with the chosen schemes, and the number of its line in answers.jsonl;
    None if it has no such sequence. cells: by classifier; None if it was not asked.
    """

    thing: Thing
    category: str
    number: int | None
    line: AnsweredSequence | None
    cells: list[tables.SchemeCell | None]


@dataclass(frozen=True)
class Frame:
    """A frame of the viewer. number: from 1. repeats: it is identical to the previous frame."""

    number: int
    weight: float
    caption: str
    repeats: bool
    url: str


@dataclass(frozen=True)
class AnswerCell:
    """A classifier's answer to the frame `number`, from 1."""

    number: int
    answer: FrameAnswer

    @property
    def name(self) -> str:
        return self.answer.name or self.answer.wnid or NOTHING

    @property
    def width(self) -> str:
        """Return the width of the bar in percent."""
        return f"{100 * self.answer.similarity:.4g}"


@dataclass(frozen=True)
class SequenceAnswerRow:
    """A classifier's answers along a sequence. current: its answer to the current frame."""

    classifier: str
    is_people: bool
    cells: list[AnswerCell]
    current: AnswerCell
    scores: ClassifierScores


@dataclass(frozen=True)
class Ways:
    """Links to other objects with these schemes, and to other schemes of this object.

    at: the object's position among `of` objects, from 1. parts, contents: key, name, line.
    """

    at: int
    of: int
    previous: int | None
    next: int | None
    parts: list[tuple[str, str, int]]
    contents: list[tuple[str, str, int]]
    next_part: int
    next_content: int


@dataclass(frozen=True)
class ObjectCrop:
    """A crop of an image: its address, the SVG view box, the image's size in pixels."""

    url: str
    view: str
    width: int
    height: int


@dataclass(frozen=True)
class SequenceTile:
    row: HardnessRow
    category: str
    number: int | None
    picture: ObjectCrop | None


@dataclass(frozen=True)
class Gallery:
    """Tiles of a content scheme or classifier, by the names of GALLERIES."""

    name: str
    groups: dict[str, list[SequenceTile]]


@dataclass(frozen=True)
class CaptchaFrame:
    """A frame of a CAPTCHA. url: in the viewer. picture: its file; None if it is not drawn yet."""

    number: int
    url: str
    picture: str | None


@dataclass(frozen=True)
class Captcha:
    """A CAPTCHA candidate. pair: an easy object of another category; pair_number: its line."""

    row: CaptchaRow
    category: str
    of: str
    content: str
    frames: list[CaptchaFrame]
    pair: ObjectCrop | None
    pair_number: int | None


def answers_of(row: Benchmark, run: Run) -> AnswerIndex:
    """Return the sequences of the run. Raises Refusal if the file is missing."""
    try:
        return answer_index.index(folders.run_folder(row, run.pk) / ANSWERS)
    except BadInput:
        raise Refusal(
            "The sequences of this run are no longer on this server. Score the benchmark again."
        ) from None


def uses_of_image(rows: Sequence[Benchmark], image: str) -> list[ImageUse]:
    """Return the first sequence of the image in the newest result of each benchmark."""
    image_uses = []
    for row in rows:
        run = Run(pk=row.newest_run, benchmark=row)
        if run.pk is None or not (folders.run_folder(row, run.pk) / ANSWERS).is_file():
            continue
        number = answers_of(row, run).first_of_image.get(image)
        if number is not None:
            url = reverse("evaluation:cds_viewer", args=[row.name, run.pk, number])
            image_uses.append(ImageUse(row.title, url, "reveals its objects part by part"))
    return image_uses


def objects(row: Benchmark, run: Run, result: CdsResult, query: Query) -> dict[str, object]:
    """Return the objects that match the query, with their scores at one part and content scheme."""
    index = answers_of(row, run)
    part = _known(query.get("part", ""), tables.part_schemes(result))
    content = _known(query.get("content", ""), tables.content_schemes(result))
    category, search = query.get("category", ""), query.get("q", "").strip().casefold()
    matches = [
        thing
        for thing in index.objects
        if category in ("", thing.category)
        and (not search or search in f"{thing.object} {thing.image}".casefold())
    ]
    page = Paginator(matches, PAGE_SIZE).get_page(query.get("page"))
    return {
        "page_obj": page,
        "rows": list(_object_rows(index, page, part, content, result)),
        "classifiers": result.classifiers,
        "part": part,
        "content": content,
        "category": category,
        "q": query.get("q", "").strip(),
        "filters": _filters(result, index),
        "total": len(index.objects),
    }


def _known(value: str, known: Sequence[str]) -> str:
    return value if value in known else (known[0] if known else "")


def _filters(result: CdsResult, index: AnswerIndex) -> dict[str, list[tuple[str, str]]]:
    categories = dict.fromkeys(thing.category for thing in index.objects)
    named_categories = [(key, tables.category_name(result, key)) for key in categories]
    return {
        "categories": sorted(named_categories, key=lambda pair: pair[1]),
        "parts": [(key, key) for key in tables.part_schemes(result)],
        "contents": [(key, wording.content_scheme(key)) for key in tables.content_schemes(result)],
    }


def _object_rows(
    index: AnswerIndex, page: Page, part: str, content: str, result: CdsResult
) -> Iterator[ObjectRow]:
    for thing in page.object_list:
        number = index.number_of(thing.image, thing.object, part, content)
        line = index.line(number) if number is not None else None
        values = {name: scores.cds for name, scores in line.scores.items()} if line else {}
        least = min((x for name, x in values.items() if name != tables.PEOPLE), default=None)
        yield ObjectRow(
            thing=thing,
            category=tables.category_name(result, thing.category),
            number=number,
            line=line,
            cells=[
                tables.SchemeCell(values[name], name != tables.PEOPLE and values[name] == least)
                if name in values
                else None
                for name in result.classifiers
            ],
        )


def viewer(
    row: Benchmark, run: Run, result: CdsResult, number: int, query: Query
) -> dict[str, object] | None:
    """Return one sequence with every classifier's answer to each frame; None for an
    unknown line.
    """
    index = answers_of(row, run)
    if number >= len(index.places):
        return None
    entry, line = index.places[number], index.line(number)
    frames = _frames(row, run, number, line)
    frame_text = query.get("frame", "")
    current = (
        min(max(int(frame_text), 1), len(frames))
        if frame_text.isdecimal() and len(frame_text) < 6
        else 1
    )
    return {
        "place": entry,
        "image_url": _image_url(row, entry.image),
        "category": tables.category_name(result, entry.category),
        "line": line,
        "frames": frames,
        "shown": frames[current - 1],
        "rows": [
            _answers(name, line, current) for name in result.classifiers if name in line.scores
        ],
        "ready": viewing.state(row, number).is_done,
        "ways": _ways(index, entry, result),
        "has_mapping": result.mapping is not None,
    }


def _image_url(row: Benchmark, name: str) -> str | None:
    dataset = row.campaign.dataset
    pk = dataset.images.filter(name=name).values_list("pk", flat=True).first()
    return reverse("labeling:image", args=[dataset.name, pk]) if pk else None


def _frames(row: Benchmark, run: Run, number: int, line: AnsweredSequence) -> list[Frame]:
    ids, added = line.frames, _added(row, line)
    count = len(ids)
    repeats = [index > 0 and ids[index] == ids[index - 1] for index in range(count)]
    lacking = [*repeats]
    if line.parts is not None and line.present is not None and not row.settings["include_empty"]:
        # The first frame has none to repeat: its part is missing if too few other frames repeat.
        lacking[0] = sum(repeats) < line.parts - line.present
    return [
        Frame(
            number=index + 1,
            weight=(count - index) / count,
            caption=f"no {added[index]} here" if lacking[index] else added[index],
            repeats=repeats[index],
            url=_frame_url(row, run, number, index + 1),
        )
        for index in range(count)
    ]


def _frame_url(row: Benchmark, run: Run, number: int, frame: int) -> str:
    return reverse("evaluation:cds_frame", args=[row.name, run.pk, number, frame])


def _added(row: Benchmark, line: AnsweredSequence) -> list[str]:
    """Return the name of the part that each frame adds; "frame 3" if it is unknown."""
    count = len(line.frames)
    orders = row.settings.get("orders", {}).get(line.part_scheme, {})
    order = orders.get(line.category, [])
    names = pages.names_of(row).parts.get(line.category, {})
    words = ["no part yet"] * (count - 1 - len(order)) + [names.get(key, key) for key in order]
    if len(words) != count - 1:
        words = [f"frame {index + 1}" for index in range(count - 1)]
    return [*words, "all the rest"]


def _answers(name: str, line: AnsweredSequence, current: int) -> SequenceAnswerRow:
    cells = [
        AnswerCell(number, answer) for number, answer in enumerate(line.answers[name], start=1)
    ]
    return SequenceAnswerRow(
        name, name == tables.PEOPLE, cells, cells[current - 1], line.scores[name]
    )


def _ways(index: AnswerIndex, entry: SequencePlace, result: CdsResult) -> Ways:
    at = index.objects.index(Thing(entry.image, entry.object, entry.category))
    schemes = entry.part_scheme, entry.content_scheme

    def beside(step: int) -> int | None:
        if not 0 <= at + step < len(index.objects):
            return None
        thing = index.objects[at + step]
        return index.number_of(thing.image, thing.object, *schemes)

    numbers = index.numbers[entry.image, entry.object]
    parts = [key for key in tables.part_schemes(result) if (key, schemes[1]) in numbers]
    contents = [key for key in tables.content_schemes(result) if (schemes[0], key) in numbers]
    return Ways(
        at=at + 1,
        of=len(index.objects),
        previous=beside(-1),
        next=beside(1),
        parts=[(key, key, numbers[key, schemes[1]]) for key in parts],
        contents=[(key, wording.content_scheme(key), numbers[schemes[0], key]) for key in contents],
        next_part=numbers[_after(parts, schemes[0]), schemes[1]],
        next_content=numbers[schemes[0], _after(contents, schemes[1])],
    )


def _after(names: Sequence[str], name: str) -> str:
    """Return the next name; the first after the last."""
    return names[(names.index(name) + 1) % len(names)]


def galleries(row: Benchmark, run: Run, result: CdsResult, query: Query) -> dict[str, object]:
    """Return the easiest, median and hardest objects of one form, or the CAPTCHA candidates."""
    requested_form = query.get("form", "")
    form = requested_form if requested_form in (*wording.HARDNESS, "captchas") else "content_scheme"
    index = answers_of(row, run)
    captchas = result.tables.captchas
    context: dict[str, object] = {
        "form": form,
        "forms": wording.HARDNESS,
        "captchas": len(captchas),
    }
    if form == "captchas":
        page = Paginator(captchas, CAPTCHAS).get_page(query.get("page"))
        return context | {"page_obj": page, "rows": _captchas(row, run, index, page, result)}
    by_of = tables.by_of(result, form)
    gallery_rows = [
        hardness_row for rows in by_of.values() for hardness_row in rows if hardness_row.gallery
    ]
    photographs = _photographs(
        row, [(hardness_row.image, hardness_row.object) for hardness_row in gallery_rows]
    )
    return context | {
        "galleries": [
            Gallery(
                wording.content_scheme(of),
                {
                    name: [
                        _tile(hardness_row, form, index, photographs, result)
                        for hardness_row in tables.where(rows, gallery=name)
                    ]
                    for name in GALLERIES
                },
            )
            for of, rows in by_of.items()
        ]
    }


def _tile(
    hardness_row: HardnessRow,
    form: str,
    index: AnswerIndex,
    photographs: Photographs,
    result: CdsResult,
) -> SequenceTile:
    content = hardness_row.of if form == "content_scheme" else None
    return SequenceTile(
        row=hardness_row,
        category=tables.category_name(result, hardness_row.category),
        number=index.number_of(hardness_row.image, hardness_row.object, None, content),
        picture=_picture(photographs.get((hardness_row.image, hardness_row.object)), content),
    )


def _photographs(
    row: Benchmark, keys: Iterable[tuple[str | None, str | None]]
) -> dict[tuple[str | None, str | None], Item]:
    """Return the objects of these images and names that are still in the dataset."""
    known = [(image, name) for image, name in keys if image is not None and name is not None]
    rows = Item.objects.filter(
        image__dataset=row.campaign.dataset_id,
        image__name__in={image for image, _ in known},
        name__in={name for _, name in known},
        region__isnull=False,
    ).select_related("image", "image__dataset")
    return {(item.image.name, item.name): item for item in rows}


def _picture(item: Item | None, content: str | None) -> ObjectCrop | None:
    """Return the object's crop of the photograph (its last frame)."""
    if item is None:
        return None
    image = item.image
    assert item.region is not None, "objects have a box"
    if content == "intra-object":
        crop = crops.tight(item.region, image.width, image.height)
    else:
        crop, _ = crops.widened(item.region, image.width, image.height)
    longest = max(image.width, image.height)
    seen = max(crop[2] - crop[0], crop[3] - crop[1]) * min(1, THUMBNAIL_PX / longest)
    name, pk = ("thumbnail", image.pk) if seen >= TILE_PX else ("object_image", item.pk)
    url = reverse(f"labeling:{name}", args=[image.dataset.name, pk])
    return ObjectCrop(url, view_box(crop), image.width, image.height)


def _captchas(
    row: Benchmark, run: Run, index: AnswerIndex, page: Page, result: CdsResult
) -> list[Captcha]:
    rows: list[CaptchaRow] = list(page.object_list)
    photographs = _photographs(row, [(captcha.pair_image, captcha.pair_object) for captcha in rows])
    return [
        Captcha(
            row=captcha,
            category=tables.category_name(result, captcha.category),
            of=wording.content_scheme(captcha.of),
            content=wording.content_scheme(captcha.content_scheme),
            frames=_captcha_frames(row, run, index, captcha),
            pair=_picture(photographs.get((captcha.pair_image, captcha.pair_object)), None),
            pair_number=index.number_of(captcha.pair_image, captcha.pair_object),
        )
        for captcha in rows
    ]


def _captcha_frames(
    row: Benchmark, run: Run, index: AnswerIndex, captcha: CaptchaRow
) -> list[CaptchaFrame]:
    """Return the frames that a CAPTCHA may show, with links."""
    number = index.number_of(
        captcha.image, captcha.object, captcha.part_scheme, captcha.content_scheme
    )
    if number is None:
        return []
    viewer = reverse("evaluation:cds_viewer", args=[row.name, run.pk, number])
    return [
        CaptchaFrame(
            number=frame,
            url=f"{viewer}?frame={frame}",
            picture=_frame_url(row, run, number, frame)
            if viewing.is_drawn(row, number, frame)
            else None,
        )
        for frame in range(captcha.first, captcha.last + 1)
    ]
