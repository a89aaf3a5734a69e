"""What the pages about single sequences show: the list of objects, the viewer, the galleries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.urls import reverse

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import answer_index, pages, viewing
from evaluation.benchmarks.kinds.cds.answer_index import Answers, Thing
from evaluation.benchmarks.kinds.cds.running import ANSWERS
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.tables import Result
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.geometry import crops
from labeling.geometry.svg import view_box
from labeling.image_files import THUMBNAIL_PX
from labeling.models import Item
from labeling.release_files.line_index import Line

PAGE = 30
CAPTCHAS = 24
# How wide a tile is on the page: a thumbnail that shows less of the object than that is too small.
TILE_PX = 150
GALLERIES = ("easiest", "median", "hardest")
NOTHING = "nothing"


def answers_of(row: Benchmark, run: Run) -> Answers:
    """The sequences of the run. Raises Refusal where their file is gone."""
    try:
        return answer_index.index(folders.run_folder(row, run.pk) / ANSWERS)
    except BadInput:
        raise Refusal(
            "The sequences of this run are not on this server any more. Score the benchmark again."
        ) from None


def objects(row: Benchmark, run: Run, result: Result, query: Mapping[str, str]) -> dict[str, Any]:
    """The objects that the address asks for, with their scores at one part and content scheme."""
    index = answers_of(row, run)
    part = _known(query.get("part", ""), tables.part_schemes(result))
    content = _known(query.get("content", ""), tables.content_schemes(result))
    category, wanted = query.get("category", ""), query.get("q", "").strip().casefold()
    found = [
        thing
        for thing in index.things
        if category in ("", thing.category)
        and (not wanted or wanted in f"{thing.object} {thing.image}".casefold())
    ]
    page = Paginator(found, PAGE).get_page(query.get("page"))
    return {
        "page_obj": page,
        "rows": list(_object_rows(index, page, part, content, result)),
        "classifiers": result["classifiers"],
        "part": part,
        "content": content,
        "category": category,
        "q": query.get("q", "").strip(),
        "filters": _filters(result, index),
        "total": len(index.things),
    }


def _known(wanted: str, known: Sequence[str]) -> str:
    return wanted if wanted in known else (known[0] if known else "")


def _filters(result: Result, index: Answers) -> dict[str, list[tuple[str, str]]]:
    categories = dict.fromkeys(thing.category for thing in index.things)
    named = [(key, tables.category_name(result, key)) for key in categories]
    return {
        "categories": sorted(named, key=lambda pair: pair[1]),
        "parts": [(key, key) for key in tables.part_schemes(result)],
        "contents": [(key, wording.content_scheme(key)) for key in tables.content_schemes(result)],
    }


def _object_rows(
    index: Answers, page: Page, part: str, content: str, result: Result
) -> Iterable[dict[str, Any]]:
    for thing in page.object_list:
        number = index.number_of(thing.image, thing.object, part, content)
        line = index.lines[number] if number is not None else None
        scores = line["scores"] if line else {}
        machines = [own["cds"] for name, own in scores.items() if name != tables.PEOPLE]
        least = min(machines, default=None)
        yield {
            "thing": thing,
            "number": number,
            "category": tables.category_name(result, thing.category),
            "frames": len(line["frames"]) if line else None,
            "present": line.get("present") if line else None,
            "parts": line.get("parts") if line else None,
            "cells": [
                {
                    "value": scores[name]["cds"],
                    "best": name != tables.PEOPLE and scores[name]["cds"] == least,
                }
                if name in scores
                else None
                for name in result["classifiers"]
            ],
        }


def viewer(
    row: Benchmark, run: Run, result: Result, number: int, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """One sequence with what everybody answered at each frame; None where there is no such line."""
    index = answers_of(row, run)
    if number >= len(index.places):
        return None
    place, line = index.places[number], index.lines[number]
    count = len(line["frames"])
    frames = _frames(row, run, number, line)
    asked = query.get("frame", "")
    shown = min(max(int(asked), 1), count) if asked.isdecimal() and len(asked) < 6 else 1
    return {
        "place": place,
        "category": tables.category_name(result, place.category),
        "content": wording.content_scheme(place.content_scheme),
        "frames": frames,
        "shown": frames[shown - 1],
        "rows": [
            _said(name, line, result, shown)
            for name in result["classifiers"]
            if name in line["scores"]
        ],
        "present": line.get("present"),
        "parts": line.get("parts"),
        "ready": viewing.state(row, number).is_done,
        "ways": _ways(index, place, result),
        "has_mapping": result.get("mapping") is not None,
    }


def _frames(row: Benchmark, run: Run, number: int, line: Line) -> list[dict[str, Any]]:
    """Each frame's number from 1, its weight, what it adds, and where its picture is."""
    ids, added = line["frames"], _added(row, line)
    count = len(ids)
    repeats = [place > 0 and ids[place] == ids[place - 1] for place in range(count)]
    lacking = [*repeats]
    if line.get("parts") is not None and not row.settings["include_empty"]:
        # Where the first part is missing there is no frame before to repeat.
        lacking[0] = sum(repeats) < line["parts"] - line["present"]
    return [
        {
            "number": place + 1,
            "weight": (count - place) / count,
            "caption": f"no {added[place]} here" if lacking[place] else added[place],
            "repeats": repeats[place],
            "url": _frame_url(row, run, number, place + 1),
        }
        for place in range(count)
    ]


def _frame_url(row: Benchmark, run: Run, number: int, frame: int) -> str:
    return reverse("evaluation:cds_frame", args=[row.name, run.pk, number, frame])


def _added(row: Benchmark, line: Line) -> list[str]:
    """The part that each frame adds, in words; "frame 3" where the benchmark does not say."""
    count = len(line["frames"])
    orders = row.settings.get("orders", {}).get(line["part_scheme"], {})
    order = orders.get(line["category"], [])
    names = pages.names_of(row)["parts"].get(line["category"], {})
    said = ["no part yet"] * (count - 1 - len(order)) + [names.get(key, key) for key in order]
    if len(said) != count - 1:
        said = [f"frame {place + 1}" for place in range(count - 1)]
    return [*said, "all the rest"]


def _said(name: str, line: Line, result: Result, shown: int) -> dict[str, Any]:
    """A classifier's answers along the sequence, and its scores."""
    cells = [
        {
            "name": said["name"] or said["wnid"] or NOTHING,
            "wnid": said["wnid"],
            "similarity": said["similarity"],
            "width": f"{100 * said['similarity']:.4g}",
            "right": said["right"],
            "number": place + 1,
            "is_shown": place + 1 == shown,
        }
        for place, said in enumerate(line["answers"][name])
    ]
    return {
        "classifier": name,
        "is_people": name == tables.PEOPLE,
        "cells": cells,
        "now": cells[shown - 1],
    } | line["scores"][name]


def _ways(index: Answers, place: answer_index.Place, result: Result) -> dict[str, Any]:
    """Lines to go to from here: other objects with these schemes, other schemes of this object."""
    at = index.things.index(Thing(place.image, place.object, place.category))
    schemes = place.part_scheme, place.content_scheme

    def beside(step: int) -> int | None:
        if not 0 <= at + step < len(index.things):
            return None
        thing = index.things[at + step]
        return index.number_of(thing.image, thing.object, *schemes)

    own = index.numbers[place.image, place.object]
    parts = [key for key in tables.part_schemes(result) if (key, schemes[1]) in own]
    contents = [key for key in tables.content_schemes(result) if (schemes[0], key) in own]
    return {
        "at": at + 1,
        "of": len(index.things),
        "previous": beside(-1),
        "next": beside(1),
        "parts": [(key, key, own[key, schemes[1]]) for key in parts],
        "contents": [(key, wording.content_scheme(key), own[schemes[0], key]) for key in contents],
        "next_part": own[_after(parts, schemes[0]), schemes[1]],
        "next_content": own[schemes[0], _after(contents, schemes[1])],
    }


def _after(names: Sequence[str], name: str) -> str:
    """The next of the names, after the last the first."""
    return names[(names.index(name) + 1) % len(names)]


def galleries(row: Benchmark, run: Run, result: Result, query: Mapping[str, str]) -> dict[str, Any]:
    """The easiest, median and hardest objects of one form, or the CAPTCHA candidates."""
    asked = query.get("form", "")
    form = asked if asked in (*wording.HARDNESS, "captchas") else "content_scheme"
    index = answers_of(row, run)
    found = tables.rows_of(result, "captchas")
    context: dict[str, Any] = {"form": form, "forms": wording.HARDNESS, "captchas": len(found)}
    if form == "captchas":
        page = Paginator(found, CAPTCHAS).get_page(query.get("page"))
        return context | {"page_obj": page, "rows": _captchas(row, run, index, page, result)}
    shown = [line for line in tables.rows_of(result, "hardness", form=form) if line["gallery"]]
    photographs = _photographs(row, shown)
    return context | {
        "galleries": [
            {
                "of": of,
                "name": wording.content_scheme(of),
                "groups": [
                    {
                        "words": key,
                        "tiles": [
                            _tile(line, form, index, photographs, result)
                            for line in sorted(lines, key=lambda line: line["rank"])
                            if line["gallery"] == key
                        ],
                    }
                    for key in GALLERIES
                ],
            }
            for of, lines in tables.by_of(result, form).items()
        ]
    }


def _tile(
    line: Line, form: str, index: Answers, photographs: dict[Any, Item], result: Result
) -> dict[str, Any]:
    content = line["of"] if form == "content_scheme" else None
    return {
        "line": line,
        "category": tables.category_name(result, line["category"]),
        "number": index.number_of(line["image"], line["object"], None, content),
        "picture": _picture(photographs.get((line["image"], line["object"])), content),
    }


def _photographs(row: Benchmark, lines: Iterable[Line]) -> dict[tuple[str, str], Item]:
    """The objects of these lines by image and name, while the dataset still has them."""
    wanted = {(line["image"], line["object"]) for line in lines}
    rows = Item.objects.filter(
        image__dataset=row.campaign.dataset_id,
        image__name__in={image for image, _ in wanted},
        name__in={name for _, name in wanted},
        region__isnull=False,
    ).select_related("image", "image__dataset")
    return {(item.image.name, item.name): item for item in rows}


def _picture(item: Item | None, content: str | None) -> dict[str, Any] | None:
    """The last frame of the object, which is its crop of the photograph: where and how much."""
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
    return {
        "url": reverse(f"labeling:{name}", args=[image.dataset.name, pk]),
        "view": view_box(crop),
        "width": image.width,
        "height": image.height,
    }


def _captchas(
    row: Benchmark, run: Run, index: Answers, page: Page, result: Result
) -> list[dict[str, Any]]:
    lines = list(page.object_list)
    pairs = [{"image": line["pair_image"], "object": line["pair_object"]} for line in lines]
    photographs = _photographs(row, pairs)
    return [
        {
            "line": line,
            "of": wording.content_scheme(line["of"]),
            "frames": _asked_frames(row, run, index, line),
            "category": tables.category_name(result, line["category"]),
            "content": wording.content_scheme(line["content_scheme"]),
            "pair": _picture(photographs.get((line["pair_image"], line["pair_object"])), None),
            "pair_number": index.number_of(line["pair_image"], line["pair_object"]),
        }
        for line in lines
    ]


def _asked_frames(row: Benchmark, run: Run, index: Answers, line: Line) -> list[dict[str, Any]]:
    """The frames that a CAPTCHA may show, with the way to each."""
    number = index.number_of(
        line["image"], line["object"], line["part_scheme"], line["content_scheme"]
    )
    if number is None:
        return []
    viewer = reverse("evaluation:cds_viewer", args=[row.name, run.pk, number])
    return [
        {
            "number": frame,
            "url": f"{viewer}?frame={frame}",
            "picture": _frame_url(row, run, number, frame)
            if viewing.is_drawn(row, number, frame)
            else None,
        }
        for frame in range(line["first"], line["last"] + 1)
    ]
