"""The job that adds frames as images and asks people about them.

It can be killed and run again: existing frames stay, and nothing is asked twice.
"""

import hashlib
import io
import json
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from evaluation.benchmarks.kinds.cds import people
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.models import Benchmark
from evaluation.readers.sequences import ObjectKey, SequenceLine, object_of, plain_id
from evaluation.sequences import sequencing
from labeling.campaigns import lifecycle, subjects
from labeling.datasets import images
from labeling.datasets.image_sources import MAX_NAME_LENGTH, clean_name
from labeling.errors import Refusal
from labeling.exchange import export_files
from labeling.follow_ups import asking, opening
from labeling.jobs import queue, shared_files
from labeling.models import Campaign, Dataset, Image, Item, Job, Release
from labeling.releases import freezing

BATCH = 500


def execute(job: Job) -> None:
    """Add the frames to the campaign's dataset as images and create the questions. May run again.

    Job payload: {"benchmark": pk, "part_schemes", "content_schemes", "objects"}, and "version" of
    the truth if a new one needs more frames. Raises Refusal and BadInput for a photograph that is
    missing or differs from the released one.
    """
    rows = Benchmark.objects.select_related(
        "campaign__dataset", "naming__dataset", "release__campaign__dataset"
    )
    benchmark = rows.filter(pk=job.payload["benchmark"]).first()
    if benchmark is None:
        return
    campaign = benchmark.naming
    assert campaign is not None, "people.ask made the campaign with its job"
    selection = people.AskedFrames(
        tuple(job.payload["part_schemes"]),
        tuple(job.payload["content_schemes"]),
        job.payload["objects"],
    )
    chosen_lines = set(people.lines_of(benchmark, selection))
    by_release = [
        (release, [line for line in lines if line in chosen_lines])
        for release, lines in SequenceHistory.of(benchmark).by_release()
    ]
    lines = [line for _, lines in by_release for line in lines]
    item_ids = _items(benchmark.campaign.dataset, {(line.image, line.object) for line in lines})
    total = len({frame for line in lines for frame in line.frames})
    with _written(benchmark, people.frames_file(job.payload)) as (known, note):
        for release, lines in by_release:
            for frame, image in _made(benchmark, release, lines, item_ids, known):
                note(frame, image)
                queue.renew(job, done=min(len(known), total - 1), total=total)
        subjects.bar_earlier_annotators(item_ids.values())
        _ask(campaign, sorted(set(known.values())), benchmark.settings["seed"])


def image_name(frame: str) -> str:
    """Return the image name of a frame: its id, or a hash if the id is not a valid name."""
    try:
        if len(frame) <= MAX_NAME_LENGTH and clean_name(frame) == frame:
            return frame
    except Refusal:
        pass
    return f"frames/{hashlib.sha256(frame.encode()).hexdigest()}"


def png(pixels: NDArray[np.uint8], thing: ObjectKey) -> bytes:
    """Return the frame as a PNG file.

    Identical frames of one object give the same file. Those of different objects (all black, for
    example) do not, so that each object has its own images.
    """
    notes = PngInfo()
    notes.add_text("object", hashlib.sha256("\0".join(thing).encode()).hexdigest())
    stream = io.BytesIO()
    Pillow.fromarray(pixels).save(stream, "PNG", pnginfo=notes)
    return stream.getvalue()


def _made(
    benchmark: Benchmark,
    release: Release,
    lines: list[SequenceLine],
    item_ids: dict[ObjectKey, int],
    known: dict[str, str],
) -> Iterator[tuple[str, str]]:
    """Yield (frame, image name) for every new frame of a release, after adding its image."""
    assert benchmark.naming is not None, "people.ask made it"
    of = {frame: object_of(line) for line in lines for frame in line.frames}
    # Plain id of a missing frame → its id.
    left = {plain_id(frame): frame for frame in of if frame not in known}
    chosen = benchmark.settings
    frames = sequencing.frames_of(
        freezing.read(release),
        {line.part_scheme: chosen["orders"][line.part_scheme] for line in lines},
        list(dict.fromkeys(line.content_scheme for line in lines)),
        export_files.originals_of(release),
        include_empty=chosen["include_empty"],
        objects={object_of(line) for line in lines},
        is_wanted=left.__contains__,
    )
    for name, pixels in frames:
        frame = left[name]
        image = _add(benchmark.naming.dataset, frame, pixels.cpu().numpy(), of[frame])
        subjects.derive({image.pk: item_ids[of[frame]]})
        yield frame, image.name


def _add(dataset: Dataset, frame: str, pixels: NDArray[np.uint8], thing: ObjectKey) -> Image:
    """Return the frame's image: from an earlier run, an identical one, or a new one."""
    name = image_name(frame)
    image = dataset.images.filter(name=name).first()
    if image is None:
        added = images.add_file(dataset, name, io.BytesIO(png(pixels, thing)))
        image = added.image or added.duplicate_of
    assert image is not None
    return image


def _ask(campaign: Campaign, names: list[str], seed: int) -> None:
    """Create one question per image in random order.

    The random order reveals nothing, and mixes frames of many objects on a page.
    """
    topic = opening.NAMING_TOPIC | {"name": people.QUESTION}
    lifecycle.define_topics(campaign, [topic])
    random.Random(seed).shuffle(names)
    items, _ = asking.whole_items(campaign, names)
    asking.add_item_questions(campaign, [(items[name], topic["key"]) for name in names])


def _items(dataset: Dataset, objects: set[ObjectKey]) -> dict[ObjectKey, int]:
    """Return the item of each object in the dataset of its photographs, by image and name.

    A renamed object is represented by its whole photograph: each person then sees one frame of all
    renamed objects in the photograph. Raises Refusal for a missing photograph.
    """
    names = sorted({image for image, _ in objects})
    item_ids: dict[ObjectKey, int] = {}
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        rows = Item.objects.filter(image__dataset=dataset, image__name__in=batch)
        item_ids |= {
            (image, name): pk
            for image, name, pk in rows.filter(region__isnull=False).values_list(
                "image__name", "name", "pk"
            )
        }
    lost = sorted(objects - item_ids.keys())
    for image, name in lost:
        photograph = dataset.images.filter(name=image).first()
        if photograph is None:
            raise Refusal(
                f"{image} is no longer in {dataset.name}. Add it by that name, then try again."
            )
        whole, _ = Item.objects.get_or_create(image=photograph, region=None)
        item_ids[image, name] = whole.pk
    return {thing: item_ids[thing] for thing in objects}


@contextmanager
def _written(benchmark: Benchmark, name: str) -> Iterator[tuple[dict[str, str], Any]]:
    """Yield the known frames and a function that appends one to the file of this name.

    The file gets its final name on success.
    """
    goal = people.frames_place(benchmark, name)
    part = goal.with_suffix(".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    if not part.exists() and (earlier := people.frames_path(benchmark)).exists():
        shutil.copyfile(earlier, part)
    with open(part, "ab+") as file:
        file.seek(0)
        # A truncated last line is written again.
        whole = file.read().rpartition(b"\n")[0]
        file.truncate(len(whole) + 1 if whole else 0)
        rows = [json.loads(line) for line in whole.splitlines()]
        known = {row["frame"]: row["image"] for row in rows}

        def note(frame: str, image: str) -> None:
            known[frame] = image
            file.write(json.dumps({"frame": frame, "image": image}).encode() + b"\n")
            file.flush()

        yield known, note
        os.fsync(file.fileno())
    shared_files.put(part, people.frames_name(benchmark, name))
    os.replace(part, goal)
