"""A small benchmark as files: three categories, four content schemes, two part schemes."""

import json
import random
from pathlib import Path

from evaluation.readers.sequences import SequenceLine

DOG, CAT, BUS = "n02084071", "n02121620", "n02924116"
WOLF, LION, TRUCK = "n02114100", "n02129165", "n04490091"
MAPPING = {DOG: [DOG, "n02085620"], CAT: [CAT, "n02123045"], BUS: [BUS]}
PARTS = ("E_U", "random")
CONTENTS = ("intra-object", "intra-object-and-neighbourhood", "low", "higher")
CLASSIFIERS = ("one", "two")


def lines(objects: int = 2, frames: int = 8, **changes: object) -> list[SequenceLine]:
    """Sequences of `objects` images of each category."""
    return [
        SequenceLine(
            image=f"{category}/{number}.jpg",
            category=category,
            part_scheme=part,
            content_scheme=content,
            frames=tuple(f"{category}/{number}/{part}/{content}/{i}" for i in range(1, frames + 1)),
            **{"present": 2, "parts": 4, **changes},
        )
        for category in (DOG, CAT, BUS)
        for number in range(objects)
        for part in PARTS
        for content in CONTENTS
    ]


def write_sequences(path: Path, rows: list[SequenceLine] | list[dict]) -> Path:
    dicts = [row.as_dict() if isinstance(row, SequenceLine) else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in dicts))
    return path


def write_predictions(
    path: Path, rows: list[SequenceLine], classifiers: tuple[str, ...] = CLASSIFIERS, seed: int = 0
) -> Path:
    """Answers by chance, the later the more often right; now and then none."""
    rng = random.Random(seed)
    text = ["frame,classifier,wnid,confidence\n"]
    for classifier in classifiers:
        for line in rows:
            for index, frame in enumerate(dict.fromkeys(line.frames)):
                right = rng.random() < (index + 1) / (2 * len(line.frames))
                answer = rng.choice([DOG, CAT, BUS, WOLF, LION, "", "", ""])
                wnid = line.category if right else answer
                text.append(f"{frame},{classifier},{wnid},{rng.random():.3f}\n")
    path.write_text("".join(text))
    return path


def write_mapping(path: Path, mapping: dict[str, list[str]] = MAPPING) -> Path:
    rows = [f"{category},{wnid}\n" for category, wnids in mapping.items() for wnid in wnids]
    path.write_text("category,wnid\n" + "".join(rows))
    return path
