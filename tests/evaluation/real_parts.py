"""The demonstration's drawn parts and boxes, and its networks' classes of frames and score maps."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from annotator.demo import cds, networks
from annotator.demo import parts as imported
from tests.evaluation.benchmarks.kinds.labeled import world

PHOTOGRAPHS = ["astronaut.png", "camera.png", "chelsea.png", "horse.png"]
# Seen by eye, a few pixels inside the photograph.
BOXES = {
    ("astronaut.png", "n00007846"): [15.0, 14.0, 364.0, 506.0],
    ("camera.png", "n00007846"): [6.0, 60.0, 332.0, 506.0],
    ("chelsea.png", "n02121620"): [6.0, 6.0, 400.0, 294.0],
    ("horse.png", "n02374451"): [18.0, 9.0, 389.0, 313.0],
}
CDS = {"lite0": 0.367, "lite1": 0.3437, "lite2": 0.3535}
MAPS = dict.fromkeys(CDS, 0.8333)
QUESTIONS = [list(pair) for pair in BOXES]


def coco() -> bytes:
    """Every part that was imported or drawn for the demonstration, as COCO."""
    content = json.loads(imported.SOURCE.read_text())
    images = {row["file_name"]: row["id"] for row in content["images"]}
    rows, categories = content["annotations"], content["categories"]
    classes = {row["name"]: row["id"] for row in categories if "supercategory" not in row}
    objects = {row["image_id"]: row["id"] for row in rows if "part_of" not in row}
    for name, drawing in json.loads(cds.SOURCE.read_text()).items():
        if name not in images:
            images[name] = len(images) + 1
            size = {"width": 512, "height": 512}
            content["images"].append({"id": images[name], "file_name": name} | size)
        if "box" in drawing:
            objects[images[name]] = len(rows) + 1
            box = {"category_id": classes[drawing["category"]], "bbox": drawing["box"]}
            rows.append({"id": len(rows) + 1, "image_id": images[name], "segmentation": []} | box)
        for part, polygons in drawing["parts"].items():
            if isinstance(polygons, str):
                continue
            category = len(categories) + 1
            categories.append({"id": category, "name": part, "supercategory": drawing["category"]})
            rings = [[number for point in polygon[0] for number in point] for polygon in polygons]
            rows.append(
                {"id": len(rows) + 1, "image_id": images[name], "category_id": category}
                | {"part_of": objects[images[name]], "segmentation": rings}
            )
    return json.dumps(content).encode()


def orders() -> bytes:
    return json.dumps({"orders": {"by-eye": cds.PART_ORDERS}}).encode()


def mapping() -> bytes:
    pairs = [(key, wnid) for key, wnids in cds.MAPPING.items() for wnid in wnids]
    return _csv([("category", "wnid"), *pairs])


def frame_predictions() -> bytes:
    """What the networks see in each frame."""
    classes = networks.ilsvrc_classes()
    with np.load(networks.SOURCE) as arrays:
        rows = [
            (frame, name, classes[label])
            for name in networks.NETWORKS
            for frame, label in zip(arrays["frames"], arrays[f"{name}.frames"], strict=True)
        ]
    return _csv([("frame", "classifier", "wnid"), *rows])


def score_maps(network: str) -> bytes:
    """A zip of a network's score maps."""
    with np.load(networks.SOURCE) as arrays:
        return world.packed(
            {f"{name}.npy": world.npy(arrays[f"{network}.map.{name}"]) for name in PHOTOGRAPHS}
        )


def by_shell_cds(shell: Any, sequences: bytes, folder: Path) -> Any:
    """The tables of `score cds`."""
    files = {"mapping": mapping(), "predictions": frame_predictions(), "sequences": sequences}
    arguments: list[Any] = []
    for name, content in files.items():
        (folder / name).write_bytes(content)
        arguments += [f"--{name}", folder / name]
    return shell.result("score", "cds", *arguments, "--seed", 1)["tables"]


def cds_of(tables: Any) -> dict[str, float]:
    """The CDS of each network by the random order."""
    rows = [row for row in tables["by_part_scheme"] if row["measure"] == "cds"]
    return {
        row["classifier"]: round(row["value"], 4)
        for row in rows
        if row["part_scheme"] == "random" and row["averaging"] == "text"
    }


def check_maps(shell: Any, truth: bytes, result: dict[str, Any], folder: Path) -> None:
    """Check that `score wsol` gives the same numbers for each network."""
    zipfile.ZipFile(io.BytesIO(truth)).extractall(folder / "truth")
    [metadata] = (path.parent for path in (folder / "truth").rglob("localization.txt"))
    scores = {row["name"]: row["result"] for row in result["submissions"]}
    means = {name: round(row["max_box_acc_v2"]["mean"], 4) for name, row in scores.items()}
    assert means == MAPS, means
    for network, score in scores.items():
        maps = folder / network
        zipfile.ZipFile(io.BytesIO(score_maps(network))).extractall(maps)
        by_shell = shell.result("score", "wsol", "--metadata", metadata, "--scoremaps", maps)
        assert by_shell["max_box_acc_v2"] == score["max_box_acc_v2"]
        assert by_shell["max_box_acc"] == score["max_box_acc"]


def _csv(rows: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
