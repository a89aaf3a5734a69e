"""Photographs of installed packages, and pools of predictions on them."""

import importlib.util
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management import call_command
from numpy.typing import NDArray

from labeling.datasets import images
from labeling.files import BadInput, atomic_write
from labeling.models import Dataset, User

# Name, row of images.csv with licence and source, content.
Photograph = tuple[str, dict[str, str], bytes]
PHOTOGRAPHS = {"skimage": "data", "sklearn": "datasets/images"}


def photograph(package: str, name: str) -> Path:
    """Return the path of a photograph in a package, without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BadInput(f"{package} is not installed", cure="run make setup")
    return Path(spec.submodule_search_locations[0], PHOTOGRAPHS[package], name)


def make_dataset(owner: User, name: str, description: str, rows: Iterable[Photograph]) -> Dataset:
    """Return the dataset of that name with these photographs, created on the first call."""
    dataset, _ = Dataset.objects.get_or_create(
        name=name, defaults={"owner": owner, "description": description}
    )
    held = set(dataset.images.values_list("name", flat=True))
    for image, row, content in rows:
        if image not in held:
            images.add_file(
                dataset, image, io.BytesIO(content), licence=row["licence"], source=row["source"]
            )
    return dataset


def write(
    folder: Path,
    names: Iterable[str],
    classes: Iterable[str],
    arrays: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
) -> Path:
    """Write a predictions folder, the format that `mad select` reads; return its path.

    arrays: labels (indices into classes) and confidences by classifier.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, lines in (("images.txt", names), ("classes.txt", classes)):
        with atomic_write(folder / file_name) as text:
            text.write("".join(f"{line}\n" for line in lines))
    for classifier, (labels, confidences) in arrays.items():
        for name, values in (("labels", labels), ("confidences", confidences)):
            with atomic_write(folder / f"{classifier}.{name}.npy", "wb") as file:
                np.save(file, values)
    return folder


def select(
    predictions: Path,
    *,
    classifiers: Sequence[str],
    top_k: int,
    reserve: int,
    min_confidence: float = 0.8,
) -> list[dict[str, Any]]:
    """Return the lines of `mad select`, the meta line first."""
    out = predictions.parent / "selection.jsonl"
    with open(os.devnull, "w") as nowhere:
        call_command(
            "mad",
            "select",
            f"--predictions={predictions}",
            f"--out={out}",
            f"--classifiers={','.join(classifiers)}",
            f"--top-k={top_k}",
            f"--reserve={reserve}",
            f"--min-confidence={min_confidence}",
            stdout=nowhere,
        )
    return [json.loads(line) for line in out.read_text().splitlines()]
