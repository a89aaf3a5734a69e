"""Releases that are the truth of small benchmarks, and classifiers that say something to it."""

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import benchmarks, paths
from evaluation.models import Benchmark, Run, Submission
from evaluation.readers.wsol_folders import read_boxes
from labeling.jobs import queue
from labeling.models import Campaign, Dataset, Job, User
from labeling.release_files.frozen import Frozen
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW

DOG = "n02084071"
CUP = "n03147509"
Boxes = Sequence[Sequence[float]]
HEADS = {
    "classification": ("image", "rank", "wnid"),
    "localization": ("image", "wnid", "confidence", "x0", "y0", "x1", "y1"),
    "detection": ("image", "wnid", "confidence", "x0", "y0", "x1", "y1"),
}


def campaign_of(owner: User, annotator: User, dataset: Dataset) -> Campaign:
    """cats/0.png: a cat and a cow drawn. cats/1.png: a cat. cats/2.png: a cat that was skipped."""
    return part_releases.settled(owner, annotator, dataset)


def make(owner: User, campaign: Campaign, kind: str = "wsol", **fields: Any) -> Benchmark:
    options = {"name": kind, "title": kind.title()} | fields
    return benchmarks.create(owner, kind=kind, campaign=campaign, **options)


def frozen_of(folder: Path, images: Mapping[str, Mapping[str, Any]], **meta: Any) -> Frozen:
    """A release of objects, without hashes: image → class → boxes, None for an object that was
    asked about in vain. Images of 64 × 48."""
    lines: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("answers.jsonl", "images.jsonl", "objects.jsonl", "topics.jsonl")
    }
    for image in sorted(images):
        size = {"width": 64, "height": 48}
        plain = {"name": image, "sha256": "", "licence": "", "source": ""} | size
        lines["images.jsonl"].append(plain)
        for wnid, boxes in images[image].items():
            question = {"image": image, "wnid": wnid}
            for box in boxes:
                answer = {
                    "contains": None if box is None else True,
                    "box": list(box or [0, 0, 5, 5]),
                }
                lines["answers.jsonl"].append(question | answer)
    categories = {
        wnid: {"name": wnid, "parts": []}
        for boxes_by_wnid in images.values()
        for wnid in boxes_by_wnid
    }
    for name, file_lines in lines.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in file_lines))
    meta_of_release = {
        "files": dict.fromkeys(lines),
        "campaign": {"title": "Zoo", "kind": "parts", "settings": {"categories": categories}},
        "counts": {"open": 0, "review": 0},
    }
    return Frozen(folder, meta_of_release | meta)


def predictions(path: Path, kind: str, *rows: Sequence[Any]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADS[kind], *rows])
    return path


def maps_of(benchmark: Benchmark, draw: Callable[[str], Any]) -> bytes:
    """A zip with what `draw` gives for each image."""
    return packed(
        {
            f"{image.name}.npy": npy(draw(image.name))
            for image in read_boxes(paths.truth_folder(benchmark))
        }
    )


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def packed(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def ramp(_image: str = "") -> Any:
    """A map that rises from left to right."""
    return np.tile(np.linspace(0, 1, 64, dtype=np.float32), (48, 1))


def submit(
    benchmark: Benchmark, user: User, folder: Path, name: str = "alpha", content: Any = None
) -> Submission:
    """A classifier with these rows, or with this zip; by default one that is often right."""
    path = folder / f"{name}-sent"
    if content is None:
        content = usual(benchmark)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        predictions(path, benchmark.kind, *content)
    return benchmarks.add_submission(benchmark, user, name, path, f"{name}.sent")


def run_of(benchmark: Benchmark, user: User) -> Run:
    """A finished run in which alpha takes part."""
    with tempfile.TemporaryDirectory() as folder:
        submit(benchmark, user, Path(folder))
    run = runs.request(benchmark, user)
    queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run


def usual(benchmark: Benchmark) -> Any:
    """Predictions on the part of the world that the truth of each kind knows."""
    if benchmark.kind == "wsol":
        return maps_of(benchmark, ramp)
    if benchmark.kind == "classification":
        return [("cats/1.png", 1, DOG), ("cats/1.png", 2, CAT)]
    return [("cats/1.png", CAT, 0.9, 8, 6, 56, 42), ("cats/1.png", COW, 0.5, 0, 0, 9, 9)]
