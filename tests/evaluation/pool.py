"""Small predictions folders, MAD's selection by plain loops to compare with, and the command."""

import functools
import json
from pathlib import Path

import numpy as np

from tests.evaluation import commands

CLASSES = [
    "n01440764", "n01443537", "n01484850", "n01847000", "n02018207", "n02084071", "n02123045",
    "n02701002", "n02783161", "n02814533", "n03028079", "n03388043", "n04065272", "n07697313",
]  # fmt: skip


def make_pool(
    folder: Path,
    names=("alpha", "beta", "gamma"),
    images: int = 500,
    seed: int = 0,
    *,
    classes=CLASSES,
    ids: list[str] | None = None,
    label_types=("int16",),
    confidence_types=("float16",),
    coarse: bool = False,
) -> Path:
    """A folder of random predictions; coarse confidences tie often."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classes.txt").write_text("".join(f"{wnid}\n" for wnid in classes))
    ids = ids if ids is not None else [f"pool/{n:06d}.jpg" for n in range(images)]
    (folder / "images.txt").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    truth = rng.integers(0, len(classes), len(ids))
    for n, name in enumerate(names):
        guess = rng.integers(0, len(classes), len(ids))
        labels = np.where(rng.random(len(ids)) < 0.4, truth, guess)
        confidences = 1 - rng.random(len(ids)) ** 2 / 2
        if coarse:
            confidences = np.round(confidences, 1)
        np.save(folder / f"{name}.labels.npy", labels.astype(label_types[n % len(label_types)]))
        kind = confidence_types[n % len(confidence_types)]
        np.save(folder / f"{name}.confidences.npy", confidences.astype(kind))
    return folder


def load_pool(folder: Path, names):
    classes = (folder / "classes.txt").read_text().split()
    ids = (folder / "images.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    columns = {
        name: (
            np.load(folder / f"{name}.labels.npy").tolist(),
            np.load(folder / f"{name}.confidences.npy").astype(np.float64).tolist(),
        )
        for name in names
    }
    return classes, ids, columns


def plain_selection(
    folder: Path,
    names,
    distances,
    *,
    top_k=30,
    reserve=30,
    min_confidence=0.8,
    max_per_label=3,
    unique_pairs=False,
) -> list[dict]:
    """The lines of a selection as FORMATS states them, image by image."""
    classes, ids, columns = load_pool(folder, names)
    lines = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            (labels_a, sure_a), (labels_b, sure_b) = columns[first], columns[second]
            pool = [
                (
                    -distances[labels_a[n]][labels_b[n]],
                    -min(sure_a[n], sure_b[n]),
                    ids[n].encode(),
                    n,
                )
                for n in range(len(ids))
                if labels_a[n] != labels_b[n] and min(sure_a[n], sure_b[n]) >= min_confidence
            ]
            rank, seen_a, seen_b, seen = 0, {}, {}, set()
            for minus_distance, _, _, n in sorted(pool):
                a, b = labels_a[n], labels_b[n]
                if seen_a.get(a, 0) == max_per_label or seen_b.get(b, 0) == max_per_label:
                    continue
                if unique_pairs and (a, b) in seen:
                    continue
                if rank == top_k + reserve:
                    break
                rank += 1
                seen.add((a, b))
                seen_a[a] = seen_a.get(a, 0) + 1
                seen_b[b] = seen_b.get(b, 0) + 1
                line = {
                    "pair": [first, second],
                    "rank": rank,
                    "image": ids[n],
                    "labels": [classes[a], classes[b]],
                    "confidences": [sure_a[n], sure_b[n]],
                    "distance": -minus_distance,
                }
                lines.append(line | {"reserve": True} if rank > top_k else line)
    return lines


def read_lines(path: Path) -> tuple[dict, list[dict], bytes]:
    """Meta, lines, and the bytes after the meta line."""
    data = path.read_bytes()
    head, body = data.split(b"\n", 1)
    return json.loads(head)["meta"], [json.loads(line) for line in body.splitlines()], body


mad = functools.partial(commands.run, "mad")
refused = functools.partial(commands.refused, "mad")
