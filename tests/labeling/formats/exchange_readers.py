"""Opens exports with the readers of others, and prints as JSON what these saw.

Run by tests/labeling/formats/test_exchange.py in a process of its own, with the folder that
`make exchange` makes on its path: python exchange_readers.py READER PATH …
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def pycocotools_coco(file: str) -> Any:
    from pycocotools.coco import COCO

    coco = COCO(file)
    names = {row["id"]: row["name"] for row in coco.loadCats(coco.getCatIds())}
    rows = coco.loadAnns(coco.getAnnIds())
    return {
        "names": names,
        "annotations": [
            [coco.imgs[row["image_id"]]["file_name"], names[row["category_id"]], row["bbox"]]
            for row in rows
        ],
        "pixels": [int(coco.annToMask(row).sum()) for row in rows if row["segmentation"]],
    }


def supervision_coco(file: str, images: str) -> Any:
    import supervision

    return detections(supervision.DetectionDataset.from_coco(images, file), images)


def supervision_yolo(folder: str) -> Any:
    import supervision

    images = os.path.join(folder, "images", "train")
    labels = os.path.join(folder, "labels", "train")
    names = os.path.join(folder, "data.yaml")
    return detections(supervision.DetectionDataset.from_yolo(images, labels, names), images)


def supervision_voc(folder: str, images: str) -> Any:
    import supervision

    annotations = os.path.join(folder, "Annotations")
    return detections(supervision.DetectionDataset.from_pascal_voc(images, annotations), images)


def detections(dataset: Any, images: str) -> Any:
    return {
        "classes": dataset.classes,
        "images": {
            os.path.relpath(path, images): [
                [dataset.classes[key], box]
                for key, box in zip(result.class_id.tolist(), result.xyxy.tolist(), strict=True)
            ]
            for path, _, result in dataset
        },
    }


def torchvision() -> Any:
    """Return torchvision.datasets, with either build of torch.

    torchvision's wheel fits PyPI's torch for CUDA. Beside a torch for the CPU alone its operators
    do not load, and it does not import until they are declared. Readers use none of them. With both
    builds that fit, a second declaration would end the process.
    """
    import torch

    if torch.version.cuda is None:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision.datasets

    return torchvision.datasets


def torchvision_coco(file: str, images: str) -> Any:
    dataset = torchvision().CocoDetection(images, file)
    return [[list(image.size), [row["bbox"] for row in rows]] for image, rows in dataset]


def torchvision_voc(root: str) -> Any:
    """root: has VOCdevkit/VOC2012, as VOC's own archive."""
    dataset = torchvision().VOCDetection(root, "2012", "trainval")
    return [[list(image.size), target["annotation"]] for image, target in dataset]


def label_studio(folder: str) -> Any:
    from label_studio_sdk.converter import Converter
    from label_studio_sdk.label_interface import LabelInterface

    tasks = os.path.join(folder, "tasks.json")
    config = Path(folder, "label_config.xml").read_text()
    interface = LabelInterface(config)
    interface.validate()
    converter = Converter(config, folder, download_resources=False)
    made = {}
    for name in ("JSON_MIN", "COCO"):
        goal = Path(folder, f"as-{name}")
        converter.convert(tasks, str(goal), name, is_dir=False)
        made[name] = json.loads((goal / "result.json").read_text())
    content = json.loads(Path(tasks).read_text())
    annotations = [annotation for task in content for annotation in task["annotations"]]
    return {
        # Annotations are held to the configuration as predictions are.
        "faults": [
            fault
            for annotation in annotations
            for fault in interface.validate_prediction(annotation, True)
        ],
        "controls": {control.name: control.labels for control in interface.controls},
        **made,
    }


def datumaro(folder: str, format_name: str) -> Any:
    from datumaro.components.annotation import AnnotationType
    from datumaro.components.dataset import Dataset

    dataset = Dataset.import_from(folder, format_name)
    names = [each.name for each in dataset.categories()[AnnotationType.label].items]
    shapes = (AnnotationType.bbox, AnnotationType.polygon, AnnotationType.mask)
    return {
        "classes": names,
        "count": len(dataset),
        "images": {
            item.id: [
                [names[each.label], list(each.get_bbox()), each.get_area()]
                for each in item.annotations
                if each.type in shapes
            ]
            for item in dataset
        },
    }


def huggingface(cache: str, *folders: str) -> Any:
    """Rows of every table of published folders; of images, their sizes."""
    import datasets

    datasets.disable_progress_bars()
    rows: dict[str, dict[str, Any]] = {}
    for folder in folders:
        tables = rows[Path(folder).name] = {}
        for name in datasets.get_dataset_config_names(folder):
            table = datasets.load_dataset(folder, name, cache_dir=f"{cache}/{Path(folder).name}")
            tables[name] = [
                {**row, "image": list(row["image"].size)} if name == "images" else row
                for row in table["train"]
            ]
    return rows


def croissant(*folders: str) -> Any:
    """Rows of every record set of published folders, with what the validation says."""
    import mlcroissant

    seen: dict[str, Any] = {"issues": [], "rows": {}}
    for folder in folders:
        dataset = mlcroissant.Dataset(os.path.join(folder, "croissant.json"))
        issues = dataset.metadata.ctx.issues
        seen["issues"] += [*issues.errors, *issues.warnings]
        seen["rows"][Path(folder).name] = {
            each.id: [
                {key.rpartition("/")[2]: _plain(value) for key, value in row.items()}
                for row in dataset.records(each.id)
            ]
            for each in dataset.metadata.record_sets
        }
    return seen


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if hasattr(value, "size") and hasattr(value, "mode"):
        return list(value.size)
    return value.item() if hasattr(value, "item") else value


READERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        pycocotools_coco,
        supervision_coco,
        supervision_voc,
        supervision_yolo,
        torchvision_coco,
        torchvision_voc,
        label_studio,
        datumaro,
        huggingface,
        croissant,
    )
}

if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        content = READERS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(content))
