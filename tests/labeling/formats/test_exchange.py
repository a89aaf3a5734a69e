"""What the readers of others see in our exports: pycocotools, supervision, torchvision's datasets,
label-studio-sdk's converter, and of published folders Hugging Face's datasets and
mlcroissant, in a process that has them (`make exchange`)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from pyarrow import parquet

from labeling.exchange import export_files
from labeling.formats import FORMATS, yolo
from labeling.formats.label import ExportContext, Instance, Label, bounds
from labeling.formats.sidecar import file_name
from labeling.parts.model import Photograph
from labeling.publishing import folder
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.conftest import skip_or_fail
from tests.labeling import boxers
from tests.labeling import part_releases as cats
from tests.labeling.publishing import releases

pytestmark = pytest.mark.ci

HERE = Path(__file__).parent
EXCHANGE = Path(sys.prefix) / "exchange"

BIRD, MACHINE, HORSE = "n02012849", "n03126707", "n02374451"
CLASSES = {BIRD: "crane", MACHINE: "crane", HORSE: "horse"}
# Two images of one stem, and three that have theirs alone.
PHOTOS = [
    Photograph("coot.jpg", 64, 48),
    Photograph("coot.png", 20, 20),
    Photograph("horse.jpg", 32, 24),
    Photograph("pond/horse.jpg", 16, 16),
    Photograph("two words.jpg", 16, 16),
]
BOXES = {"horse.jpg": (2.0, 3.0, 30.0, 20.0), "two words.jpg": (0.0, 0.0, 16.0, 8.0)}
OUTLINE = ((((1.0, 1.0), (9.0, 1.0), (9.0, 9.0), (1.0, 9.0)),),)


def labels_of(photo):
    labels = [Label(photo.name, BIRD, "no", "inherited", name="crane")]
    if photo.name in BOXES:
        labels.append(
            Label(photo.name, HORSE, instances=(Instance(BOXES[photo.name]),), name="horse")
        )
    if photo.name == "coot.jpg":
        labels.append(
            Label(
                photo.name, MACHINE, instances=(Instance(bounds(OUTLINE), OUTLINE),), name="crane"
            )
        )
    return labels


@pytest.fixture
def export(tmp_path):
    """The folder of these labels in a format."""

    def write(name, **options):
        goal = tmp_path / name
        goal.mkdir()
        images = [photo.name for photo in PHOTOS]
        about_file = ExportContext("ponds", CLASSES, images=images, **options)
        FORMATS[name].write([(photo, labels_of(photo)) for photo in PHOTOS], goal, about_file)
        return goal

    return write


def seen(reader, *paths):
    """What a reader of others sees."""
    if not (EXCHANGE / ".installed").is_file():
        skip_or_fail("the readers of others are not here; run make exchange")
    done = subprocess.run(
        [sys.executable, HERE / "exchange_readers.py", reader, *map(str, paths)],
        env={
            **os.environ,
            "PYTHONPATH": str(EXCHANGE),
            "PYTHONWARNINGS": "ignore",
            "HF_HUB_OFFLINE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def pictures(folder, photos=PHOTOS):
    """The photographs by name, as whoever got the labels has them."""
    for photo in photos:
        goal = folder / photo.name
        goal.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (photo.width, photo.height)).save(goal)
    return folder


def xywh(name):
    x0, y0, x1, y1 = BOXES[name]
    return [x0, y0, x1 - x0, y1 - y0]


def test_pycocotools_and_torchvision_read_coco(export, tmp_path):
    file = export("coco") / "labels.json"

    result = seen("pycocotools_coco", file)
    images = seen("torchvision_coco", file, pictures(tmp_path / "images"))

    assert result["names"] == {"1": f"crane ({BIRD})", "2": "horse", "3": f"crane ({MACHINE})"}
    assert result["annotations"] == [
        ["coot.jpg", f"crane ({MACHINE})", [1, 1, 8, 8]],
        ["horse.jpg", "horse", xywh("horse.jpg")],
        ["two words.jpg", "horse", xywh("two words.jpg")],
    ]
    assert result["pixels"] == [64]
    assert [size for size, _ in images] == [[photo.width, photo.height] for photo in PHOTOS]
    assert images[2][1] == [xywh("horse.jpg")]


def test_supervision_reads_coco_with_each_class_once(export, tmp_path):
    file = export("coco") / "labels.json"

    result = seen("supervision_coco", file, pictures(tmp_path / "images"))

    assert result["classes"] == [f"crane ({BIRD})", "horse", f"crane ({MACHINE})"]
    assert result["images"]["horse.jpg"] == [["horse", list(BOXES["horse.jpg"])]]
    assert result["images"]["coot.jpg"] == [[f"crane ({MACHINE})", [1, 1, 9, 9]]]


def test_torchvision_reads_voc_by_its_list_of_images(export, tmp_path):
    folder = export("voc")
    devkit = tmp_path / "VOCdevkit"
    devkit.mkdir()
    folder.rename(devkit / "VOC2012")
    folder = devkit / "VOC2012"
    # It knows images as .jpg alone: those that the list has by their stem.
    names = (folder / "ImageSets" / "Main" / "trainval.txt").read_text().splitlines()
    assert names == ["coot.jpg", "coot.png", "horse", "pond/horse", "two words"]
    (folder / "ImageSets" / "Main" / "trainval.txt").write_text("horse\npond/horse\ntwo words\n")
    pictures(folder / "JPEGImages")

    result = seen("torchvision_voc", tmp_path)

    assert [size for size, _ in result] == [[32, 24], [16, 16], [16, 16]]
    [horse] = result[0][1]["object"]
    assert (horse["name"], horse["wnid"]) == ("horse", HORSE)
    assert horse["bndbox"] == {"xmin": "3", "ymin": "4", "xmax": "30", "ymax": "20"}
    assert result[1][1]["object"] == []


def test_supervision_finds_the_annotations_of_voc_by_the_stem_of_images(export, tmp_path):
    folder = export("voc")

    result = seen("supervision_voc", folder, pictures(tmp_path / "images"))

    assert result["classes"] == ["horse"]
    for name, box in BOXES.items():
        assert result["images"][name] == [["horse", list(box)]]


def test_label_studios_converter_takes_tasks_and_configuration(export):
    folder = export("label-studio", image_base="https://host/images")

    result = seen("label_studio", folder)

    assert result["faults"] == []
    assert sorted(result["controls"]) == ["boxes", "classes", "outlines"]
    assert [row["id"] for row in result["JSON_MIN"]] == [1, 2, 3, 4, 5]
    assert [row["image"] for row in result["JSON_MIN"]] == [
        f"https://host/images/{name}"
        for name in ("coot.jpg", "coot.png", "horse.jpg", "pond/horse.jpg", "two%20words.jpg")
    ]
    assert {row["name"] for row in result["COCO"]["categories"]} == set(CLASSES)
    boxes = [[round(edge, 6) for edge in row["bbox"]] for row in result["COCO"]["annotations"]]
    # The outline of the machine, and the two boxes.
    assert boxes == [[1, 1, 8, 8], xywh("horse.jpg"), xywh("two words.jpg")]


@pytest.mark.django_db
def test_readers_of_others_open_objects_with_parts(alice, bob, dataset, tmp_path):
    release = freezing.read(cats.release(alice, bob, dataset))
    for name in ("coco", "label-studio", "voc"):
        exporting.export(release, name, tmp_path / name)
    photos = [Photograph(photo.name, photo.width, photo.height) for photo, _ in release.objects()]
    images = pictures(tmp_path / "images", photos)
    file = tmp_path / "coco" / "parts.json"

    coco = seen("pycocotools_coco", file)
    others = seen("supervision_coco", file, images)
    tasks = seen("label_studio", tmp_path / "label-studio")

    names = sorted(coco["names"].values())
    assert names == sorted(others["classes"])
    assert {"cat", "cow", "cat head", "cow head"} <= set(names)
    assert not [name for name in names if "unlabeled-rest" in name]
    assert min(coco["pixels"]) > 0
    first = [name for image, name, _ in coco["annotations"] if image == "cats/0.png"]
    assert sorted(name for name, _ in others["images"]["cats/0.png"]) == sorted(first)
    assert tasks["faults"] == []
    assert {"head", "hole", "object", "unlabeled-rest-object"} <= set(tasks["controls"]["parts"])
    assert len(tasks["COCO"]["images"]) == 3
    voc = ElementTree.parse(tmp_path / "voc" / "Annotations" / "cats" / "0.xml")
    assert {node.text for node in voc.iterfind("object/name")} == {"cat", "cow"}


@pytest.mark.ci
@pytest.mark.django_db
def test_readers_of_others_open_published_folders(alice, bob, tmp_path):
    """0 differences of count, id, class and order between three readers of the same tables."""
    written = {}
    for kind, make in releases.KINDS.items():
        row = make(alice, bob, factories.make_dataset(alice, f"of-{kind}"))
        out, images = tmp_path / kind, export_files.images_of(row)
        folder.publish(freezing.read(row), out, images, with_images=True)
        written[kind] = {
            path.stem: parquet.read_table(path).to_pylist() for path in (out / "data").iterdir()
        }
        for image in written[kind]["images"]:
            image["image"] = [image["width"], image["height"]]
    folders = [tmp_path / kind for kind in written]

    assert seen("huggingface", tmp_path / "cache", *folders) == written
    records = seen("croissant", *folders)
    assert records["issues"] == []
    for tables in written.values():
        # Croissant has the boxes in the record set of objects.
        for image in tables["images"]:
            del image["objects"]
    assert records["rows"] == written


@pytest.mark.ci
@pytest.mark.django_db
def test_datumaro_and_supervision_open_the_formats_made_for_them(alice, bob, dataset, tmp_path):
    row = releases.boxes(alice, bob, dataset)
    images = export_files.images_of(row)
    for name in ("datumaro", "yolo"):
        exporting.export(freezing.read(row), name, tmp_path / name, images, with_images=True)

    json_items = seen("datumaro", tmp_path / "datumaro", "datumaro")
    yolo_items = seen("datumaro", tmp_path / "yolo", "yolo")
    boxes = seen("supervision_yolo", tmp_path / "yolo")

    expected = [[boxers.DOG, [2, 2, 20, 20], 400], [boxers.DOG, [30, 10, 20, 30], 600]]
    assert json_items == {"classes": [boxers.DOG], "count": 1, "images": {"0": expected}}
    assert (yolo_items["classes"], yolo_items["count"]) == ([boxers.DOG], 1)
    assert yolo_items["images"].keys() == {"0"}
    for (name, box, area), read in zip(expected, yolo_items["images"]["0"], strict=True):
        assert read[0] == name
        assert read[1] == pytest.approx(box, abs=0.01)
        assert read[2] == pytest.approx(area, rel=0.005)
    assert boxes["classes"] == [boxers.DOG]
    corners = [[2, 2, 22, 22], [30, 10, 50, 40]]
    assert [box for _, box in boxes["images"]["0.png"]] == [
        pytest.approx(box, abs=0.01) for box in corners
    ]


def test_readers_of_yolo_find_images_of_folders(tmp_path):
    horses = PHOTOS[2:]
    yolo.write(
        [(photo, labels_of(photo)) for photo in horses], tmp_path, ExportContext("", CLASSES)
    )
    files = [Photograph(file_name(photo.name), photo.width, photo.height) for photo in horses]
    pictures(tmp_path / yolo.IMAGES, files)

    items = seen("datumaro", tmp_path, "yolo")
    boxes = seen("supervision_yolo", tmp_path)

    assert items["images"].keys() == {"horse", "pond%2Fhorse", "two words"}
    assert {name: len(rows) for name, rows in boxes["images"].items()} == {
        "horse.jpg": 1,
        "pond%2Fhorse.jpg": 0,
        "two words.jpg": 1,
    }
