"""A release of 10,000 objects with 12 parts each: frozen, and exported as COCO.

`python -m benchmarks.bench_parts.releases [--objects N]`, on a throwaway SQLite database, each
action in a process of its own so that its memory is its own. Half of the parts were given,
half answered; each has about 40 corners, and every object an outline of 100. Part of bench_parts.
"""

import math
import os
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized

OBJECTS = sized(10_000, 20)
# Beside it, a release of a fifth, to see whether memory follows.
FEWER = 5
PARTS = 12
# As in PASCAL VOC.
SIZE = (500, 375)
BOX = (110, 90, 310, 290)
EXPORT_SECONDS = 60
FLAT_MIB = 40
CATEGORY = "n02121620"
POLICY = {"votes": 1, "review": "disputed", "gold_share": 0}


def rows(objects: int = OBJECTS) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = _child(folder, "prepare", objects)
        fewer = _child(folder, "prepare", objects // FEWER)
        small, frozen = _child(folder, "freeze", fewer), _child(folder, "freeze", prepared)
        little, written = _child(folder, "export", small), _child(folder, "export", frozen)
    return [
        {
            "name": f"freezing {objects:,} objects of {PARTS} parts",
            "target": "none",
            "measured": f"{frozen['seconds']:.0f} s, {frozen['queries']} queries, "
            f"{frozen['mib']} MiB of files; memory {_memory(small, frozen)}",
            "ok": None,
        },
        {
            "name": f"the same as COCO, the rest made ({written['vertices']:,} corners)",
            "target": f"< {EXPORT_SECONDS} s",
            "measured": f"{written['seconds']:.0f} s ({written['cpu']:.0f} s of processor, load "
            f"{os.getloadavg()[0]:.1f}), {written['mib']} MiB",
            "ok": written["seconds"] < EXPORT_SECONDS,
        },
        {
            "name": f"its memory, beside that of {objects // FEWER:,} objects",
            "target": f"< {FLAT_MIB} MiB more",
            "measured": _memory(little, written),
            "ok": written["grown"] - little["grown"] < FLAT_MIB,
        },
    ]


def _memory(small: dict[str, Any], large: dict[str, Any]) -> str:
    return f"{large['grown']} MiB over {large['before']}, of a fifth {small['grown']}"


_child = partial(own_process.run, "bench_parts.releases")

# In processes of their own, with Django set up.


def prepare(objects: int) -> str:
    """The name of a new campaign with so many settled objects, one on every image."""
    from django.core.management import call_command

    from labeling.campaigns import lifecycle
    from labeling.datasets import vocabulary_store
    from labeling.exchange import part_campaigns
    from labeling.models import Dataset, Item, User

    call_command("migrate", verbosity=0)
    owner = User.objects.create(username=f"owner-{objects}", is_researcher=True)
    name = f"bench-{objects}"
    dataset = Dataset.objects.create(owner=owner, name=name)
    vocabulary_store.add_version(dataset, _vocabulary(), owner)
    own_process.add_images(dataset, objects, SIZE)
    chance = random.Random(objects)
    _given(dataset, chance)
    campaign = part_campaigns.draft(owner, dataset, name=name, title=name, policy=POLICY)
    lifecycle.launch(campaign, owner)
    assert Item.objects.filter(image__dataset=dataset, region__isnull=False).count() == objects
    _answer(campaign, owner, chance)
    return name


def _vocabulary() -> dict[str, Any]:
    parts = [{"key": f"part-{n}", "name": f"part {n}"} for n in range(PARTS)]
    return {"title": "Bench", "categories": [{"key": CATEGORY, "name": "cat", "parts": parts}]}


def _given(dataset: Any, chance: random.Random) -> None:
    from labeling.datasets import objects
    from labeling.parts.model import Part, PartedObject

    names = list(dataset.images.order_by("name").values_list("name", flat=True))
    for start in range(0, len(names), 500):
        objects.put(
            dataset,
            [
                PartedObject(
                    image=name,
                    category=CATEGORY,
                    box=BOX,
                    parts=tuple(Part(f"part-{n}", _blob(n, chance)) for n in range(0, PARTS, 2)),
                    outline=((_ring(210, 190, 98, 100, chance),),),
                    name="cat-1",
                )
                for name in names[start : start + 500]
            ],
            "bench",
        )


def _answer(campaign: Any, user: Any, chance: random.Random) -> None:
    from django.utils import timezone

    from labeling.answers.sent import uuid7
    from labeling.geometry.polygons import as_json
    from labeling.models import Answer, Assignment, Question, Settlement

    for chunk in _chunks(campaign.questions.select_related("policy").order_by("pk")):
        seats = Assignment.objects.bulk_create(
            Assignment(
                question=asked,
                annotator=user,
                subject=asked.pk,
                state="answered",
                leased_until=timezone.now(),
            )
            for asked in chunk
        )
        answers = [
            Answer(
                id=uuid7(),
                assignment=seat,
                value={
                    "half": True,
                    "parts": {
                        f"part-{n}": {
                            "state": "drawn",
                            "polygons": as_json(_blob(n, chance)),
                        }
                        for n in range(1, PARTS, 2)
                    },
                },
            )
            for seat in seats
        ]
        Answer.objects.bulk_create(answers)
        Settlement.objects.bulk_create(
            Settlement(
                question=asked,
                policy=asked.policy,
                value=answer.value,
                probability=1.0,
                answers=[str(answer.pk)],
            )
            for asked, answer in zip(chunk, answers, strict=True)
        )
    campaign.questions.update(state=Question.State.SETTLED, seats_free=0)


def _chunks(found: Any) -> Any:
    rows = list(found)
    return (rows[start : start + 500] for start in range(0, len(rows), 500))


def _blob(part: int, chance: random.Random) -> Any:
    return ((_ring(135 + 50 * (part % 4), 130 + 60 * (part // 4), 24, 40, chance),),)


def _ring(x: float, y: float, radius: float, corners: int, chance: random.Random) -> Any:
    """A ragged disc; its corners lie on rays that never cross."""
    found = []
    for step in range(corners):
        far = radius * chance.uniform(0.96, 1.04)
        angle = 2 * math.pi * step / corners
        found.append((round(x + far * math.cos(angle), 1), round(y + far * math.sin(angle), 1)))
    return tuple(found)


def freeze(name: str) -> dict[str, Any]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from labeling.models import Campaign
    from labeling.releases import freezing

    campaign = Campaign.objects.get(name=name)
    before = own_process.peak_mib()
    with CaptureQueriesContext(connection) as asked:
        start = time.perf_counter()
        release = freezing.freeze(campaign)
        seconds = time.perf_counter() - start
    folder = freezing.folder_of(release)
    return {
        "folder": str(folder),
        "seconds": seconds,
        "queries": len(asked),
        "mib": sum(path.stat().st_size for path in folder.iterdir()) >> 20,
        "before": before,
        "grown": own_process.peak_mib() - before,
    }


def export(frozen: dict[str, Any]) -> dict[str, Any]:
    """Two exports are two processes, as `labels export` is one."""
    from labeling.release_files import exporting
    from labeling.releases import freezing

    release = freezing.read(frozen["folder"])
    out = Path(frozen["folder"]).parent / "coco"
    before = own_process.peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    exporting.export(release, "coco", out)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    grown = own_process.peak_mib() - before
    first = next(iter(release.objects()))[1][0]
    corners = sum(len(ring) for part in first.parts for piece in part.polygons for ring in piece)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "mib": (out / "parts.json").stat().st_size >> 20,
        "before": before,
        "grown": grown,
        "vertices": corners,
    }


ACTIONS: dict[str, own_process.Action] = {"prepare": prepare, "freeze": freeze, "export": export}

if __name__ == "__main__":
    own_process.main(__doc__, ACTIONS, rows, OBJECTS)
