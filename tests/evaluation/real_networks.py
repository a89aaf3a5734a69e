"""The demonstration's photographs, its trained networks' predictions, and what people see."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from annotator.demo import competition, graph, networks, pools

SETTINGS = {"min_confidence": networks.MIN_CONFIDENCE}
# By the answers below: lite2 alone is right, on one photograph.
RANKS, IMAGES = [2.5, 2.5, 1.0], [17, 12, 21]
# Questions asked, the two dropped ones included.
LABELS = 34
# Of the drawing: classes that the networks name on nothing else.
ON_DRAWING = ("n02109047", "n02089078")
SEEN = {row["wnid"] for row in graph.read_rows("networks_seen.csv")}


def photographs() -> bytes:
    """A zip of the photographs and their crops."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, _, content in networks.photographs():
            archive.writestr(name, content)
    return file.getvalue()


def predictions(folder: Path) -> Path:
    """The predictions folder of the three networks."""
    with np.load(networks.SOURCE) as arrays:
        return pools.write(
            folder,
            arrays["images"].tolist(),
            networks.ilsvrc_classes(),
            {
                name: (arrays[f"{name}.labels"], arrays[f"{name}.confidences"])
                for name in networks.NETWORKS
            },
        )


def answer_to(wnid: str) -> str:
    """What people answer to the question about this class, which is the same on every image."""
    if wnid in ON_DRAWING:
        return "not_photo"
    return "yes" if wnid in SEEN else "no"


def check_answers(rows: list[dict[str, Any]]) -> None:
    """Check that these answers are the demonstration's on each image. rows: of a selection."""
    yes = {(row["image"], row["wnid"]) for row in graph.read_rows("networks_seen.csv")}
    for row in rows:
        for wnid in row["labels"]:
            seen = "yes" if (row["image"], wnid) in yes else "no"
            expected = "not_photo" if row["image"] == competition.DRAWING else seen
            assert answer_to(wnid) == expected, (row["image"], wnid)
