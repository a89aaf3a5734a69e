"""Small scenes of boxes, as the files that commands read."""

import csv
import json
from pathlib import Path

DRAKE, COOT, DOG = "n01847000", "n02018207", "n02084071"
EDGES = ["x0", "y0", "x1", "y1"]
TRUTH_HEAD = ["image", "wnid", *EDGES]
FOUND_HEAD = ["image", "wnid", "confidence", *EDGES]


def write(path: Path, head: list[str], rows: list) -> Path:
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return path


def write_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


class Files:
    """A folder with a truth and submissions, and the arguments that name them."""

    def __init__(self, folder: Path, verb: str, truth: list, predictions: list) -> None:
        self.folder, self.verb = folder, verb
        self.truth, self.found = truth, predictions

    def arguments(self, *more: object) -> tuple:
        truth = write(self.folder / "truth.csv", TRUTH_HEAD, self.truth)
        predictions = write(self.folder / "found.csv", FOUND_HEAD, self.found)
        return (self.verb, "--truth", truth, "--predictions", predictions, *more)

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path


def coco_truth(truth: list, crowd: tuple = ()) -> dict:
    """CSV rows of a truth as COCO has them; crowd: numbers of the rows that are crowd regions."""
    images = list(dict.fromkeys(row[0] for row in truth))
    classes = list(dict.fromkeys(row[1] for row in truth))
    return {
        "images": [
            {"id": 10 + i, "file_name": name, "width": 200, "height": 200}
            for i, name in enumerate(images)
        ],
        "categories": [{"id": 70 + i, "name": f"c{i}", "wnid": c} for i, c in enumerate(classes)],
        "annotations": [
            {
                "id": i,
                "image_id": 10 + images.index(image),
                "category_id": 70 + classes.index(wnid),
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                "iscrowd": int(i in crowd),
            }
            for i, (image, wnid, x0, y0, x1, y1) in enumerate(truth)
        ],
    }


def coco_results(truth: dict, predictions: list) -> list:
    """CSV rows of predictions as COCO's list of results."""
    images = {row["file_name"]: row["id"] for row in truth["images"]}
    classes = {row["wnid"]: row["id"] for row in truth["categories"]}
    return [
        {
            "image_id": images[image],
            "category_id": classes[wnid],
            "score": score,
            "bbox": [x0, y0, x1 - x0, y1 - y0],
        }
        for image, wnid, score, x0, y0, x1, y1 in predictions
    ]


def write_xml(folder: Path, image: str, objects: list, size: tuple = (200, 200)) -> None:
    """objects: wnid, xmin, ymin, xmax, ymax."""
    folder.mkdir(exist_ok=True)
    boxes = "".join(
        f"<object><name>{wnid}</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax>"
        f"<ymax>{d}</ymax></bndbox></object>"
        for wnid, a, b, c, d in objects
    )
    (folder / f"{image}.xml").write_text(
        f"<annotation><filename>{image}</filename><size><width>{size[0]}</width>"
        f"<height>{size[1]}</height></size>{boxes}</annotation>"
    )
