import json
from dataclasses import replace
from itertools import groupby
from xml.etree import ElementTree

import pytest

from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.formats.label import NAMES, ExportContext, Instance, Label, bounds
from labeling.formats.label_studio_project import check_base
from labeling.formats.reading import LabelReading
from labeling.geometry.polygons import from_rings
from labeling.parts.model import Photograph
from tests.cases import for_each


def labels_in(name, path, **how):
    """The labels of a file, with the instances of all rows of a class in one."""
    merged = {}
    for _, labels in FORMATS[name].read(LabelReading(path, **how)):
        for label in labels:
            key = (label.image, label.key, label.source)
            earlier = merged.get(key, replace(label, instances=()))
            merged[key] = replace(earlier, instances=earlier.instances + label.instances)
    return list(merged.values())


def boxed(*boxes):
    return tuple(Instance(tuple(map(float, box))) for box in boxes)


PHOTOS = [
    Photograph("birds/coot 1.jpg", 640, 480, "a" * 64, "CC BY 4.0", "a pond"),
    Photograph("=cmd.png", 99, 33, "b" * 64),
    Photograph("plain.png", 10, 10, "c" * 64),
]
CLASSES = {"n01514668": "bird", "n02084071": "dog, <hound>"}
LABELS = [
    Label(
        PHOTOS[0].name,
        "n01514668",
        "yes",
        "explicit",
        0.9931,
        instances=boxed((0.0, 0.0, 64.0, 48.0), (10.0, 12.0, 600.0, 480.0)),
        name="bird",
        source="somebody",
    ),
    Label(PHOTOS[0].name, "n02084071", "no", "inherited", None, name="dog, <hound>"),
    Label(PHOTOS[1].name, "n01514668", "unknown", "explicit", 0.5, name="bird"),
    Label(PHOTOS[1].name, "n02084071", "yes", "given", None, name="dog, <hound>", source="-1"),
    Label(PHOTOS[2].name, "n02084071", "no", "given", None, name="dog, <hound>", source="x"),
]


def outlined(*rings):
    polygons = from_rings(rings)
    return Instance(bounds(polygons), polygons)


def written(name, folder):
    by_image = {image: list(rows) for image, rows in groupby(LABELS, key=lambda row: row.image)}
    FORMATS[name].write(
        ((photo, by_image[photo.name]) for photo in PHOTOS), folder, ExportContext("test", CLASSES)
    )
    files = {
        "csv": "labels.csv",
        "jsonl": "labels.jsonl",
        "coco": "labels.json",
        "voc": "",
        "label-studio": "tasks.json",
    }
    return folder / files[name]


@pytest.mark.parametrize("name", FORMATS)
def test_what_was_written_comes_back(name, tmp_path):
    path = written(name, tmp_path)

    labels = labels_in(name, path)

    def plain(label):
        # CSV has no column for names, and a place is no part of a label.
        unsaid = {"name", "entry"} if name == "csv" else {"entry"}
        return tuple(value for part, value in vars(label).items() if part not in unsaid)

    key = [plain(label) for label in LABELS]
    assert sorted(map(plain, labels), key=str) == sorted(key, key=str)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_share_of_votes_comes_with_their_number_and_interval(name, tmp_path):
    label = Label("plain.png", "n01514668", "yes", "explicit", 0.75, votes=13, interval=(0.5, 0.9))

    FORMATS[name].write([(PHOTOS[2], [label])], tmp_path, ExportContext("test", CLASSES))

    files = [path for path in tmp_path.rglob("*.*") if path.is_file()]
    written = "".join(path.read_text() for path in files)
    assert all(number in written for number in ("0.75", "13", "0.5", "0.9"))


def test_polygons_come_back_from_json_lines_and_coco(tmp_path):
    label = Label(
        "a.png",
        "n01514668",
        instances=(outlined(((0.0, 0.0), (9.0, 0.0), (9.0, 9.0))),),
        name="bird",
    )
    page = [(Photograph("a.png", 10, 10), [label])]

    for name, file in (("jsonl", "labels.jsonl"), ("coco", "labels.json")):
        FORMATS[name].write(page, tmp_path, ExportContext("test", CLASSES))

        assert labels_in(name, tmp_path / file) == [label]


def test_coco_of_others_gives_boxes_by_category(tmp_path):
    path = tmp_path / "instances.json"
    path.write_text(
        json.dumps(
            {
                "images": [{"id": 7, "file_name": "a.jpg"}],
                "categories": [{"id": 18, "name": "dog"}],
                "annotations": [
                    {"id": 1, "image_id": 7, "category_id": 18, "bbox": [1, 2, 3, 4]},
                    {
                        "id": 2,
                        "image_id": 7,
                        "category_id": 18,
                        "bbox": [5, 5, 1, 1],
                        "segmentation": {"counts": [0, 81], "size": [9, 9]},
                    },
                ],
            }
        )
    )

    assert labels_in("coco", path) == [
        Label(
            "a.jpg",
            "dog",
            instances=(
                *boxed((1, 2, 4, 6)),
                replace(outlined(((0, 0), (9, 0), (9, 9), (0, 9))), box=(5, 5, 6, 6)),
            ),
            name="dog",
        )
    ]


def test_voc_of_others_counts_pixels_from_one(tmp_path):
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations" / "1.xml").write_text(
        "<annotation><filename>1.jpg</filename><object><name>dog</name><bndbox><xmin>1</xmin>"
        "<ymin>1</ymin><xmax>10</xmax><ymax>20</ymax></bndbox></object></annotation>"
    )

    assert labels_in("voc", tmp_path) == [
        Label("1.jpg", "dog", instances=boxed((0.0, 0.0, 10.0, 20.0)))
    ]


def test_voc_calls_an_image_by_its_stem_where_no_other_has_it(tmp_path):
    images = ["horse.jpg", "coot.png", "coot.jpg", "Cat.jpg", "cat.png", "cat.png.jpg", "a/coot.x"]
    about_file = ExportContext("test", CLASSES, images=iter(images))

    FORMATS["voc"].write([(Photograph(name, 9, 9), []) for name in images], tmp_path, about_file)

    names = (tmp_path / "ImageSets" / "Main" / "trainval.txt").read_text().splitlines()
    assert names == [
        *("horse", "coot.png", "coot.jpg", "Cat.jpg", "cat.png", "cat.png.jpg", "a/coot")
    ]
    for name in names:
        assert (tmp_path / "Annotations" / f"{name}.xml").is_file()


def test_voc_writes_no_image_outside_its_folder(tmp_path):
    goal = tmp_path / "a" / "b"
    goal.mkdir(parents=True)
    name = "../../../evil.jpg"

    FORMATS["voc"].write(
        [(Photograph(name, 9, 9), [])], goal, ExportContext("test", CLASSES, images=[name])
    )

    assert {path.name for path in tmp_path.rglob("*.xml")} == {"evil.xml"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert list((tmp_path / "a").iterdir()) == [goal]


CRANES = {"n02012849": "crane", "n03126707": "Crane", "n02084071": "dog"}


def test_voc_names_classes_as_people_do_each_once_with_its_wnid(tmp_path):
    labels = [
        Label("a.png", key, instances=boxed((0, 0, 5, 5)), name=name)
        for key, name in CRANES.items()
    ]
    page = [(Photograph("a.png", 10, 10), labels)]

    FORMATS["voc"].write(page, tmp_path, ExportContext("test", CRANES, images=["a.png"]))

    root = ElementTree.parse(tmp_path / "Annotations" / "a.xml")
    names = ["crane (n02012849)", "Crane (n03126707)", "dog"]
    assert [node.text for node in root.iterfind("object/name")] == names
    assert [node.text for node in root.iterfind("object/wnid")] == list(CRANES)
    for name in names:
        lines = (tmp_path / "ImageSets" / "Main" / f"{name}_trainval.txt").read_text()
        assert lines == "a  1\n"
    assert (tmp_path / "classes.csv").read_text().splitlines()[1] == f"{names[0]},n02012849"
    assert labels_in("voc", tmp_path) == labels


def test_boxes_of_voc_without_the_labels_of_ours_have_their_wnid(tmp_path):
    (tmp_path / "a.xml").write_text(
        "<annotation><filename>a.jpg</filename><object><name>dog</name><wnid>n02084071</wnid>"
        "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
        "</object></annotation>"
    )

    assert [label.key for label in labels_in("voc", tmp_path)] == ["n02084071"]


@pytest.mark.parametrize("names", NAMES)
def test_categories_of_coco_have_ids_from_one_and_names_as_asked_for(names, tmp_path):
    FORMATS["coco"].write([], tmp_path, ExportContext("test", CRANES, names=names))

    categories = json.loads((tmp_path / "labels.json").read_text())["categories"]

    assert [row["id"] for row in categories] == [1, 2, 3]
    assert [row["wnid"] for row in categories] == sorted(CRANES)
    expected = {
        "unique": ["crane (n02012849)", "dog", "Crane (n03126707)"],
        "plain": ["crane", "dog", "Crane"],
    }
    assert [row["name"] for row in categories] == expected[names]


BASES = [
    ("", "/data/local-files/?d=birds/a%20coot.jpg"),
    ("/data/local-files/?d=pond", "/data/local-files/?d=pond/birds/a%20coot.jpg"),
    ("https://host/images/", "https://host/images/birds/a%20coot.jpg"),
    ("s3://bucket", "s3://bucket/birds/a coot.jpg"),
]


@pytest.mark.parametrize(("base", "address"), BASES)
def test_tasks_of_label_studio_have_an_id_and_the_images_address(base, address, tmp_path):
    name = "birds/a coot.jpg"
    label = Label(name, "n01514668", instances=boxed((0.0, 0.0, 4.0, 4.0)), name="bird")
    about_file = ExportContext("test", CLASSES, image_base=base)

    FORMATS["label-studio"].write([(Photograph(name, 10, 10), [label])], tmp_path, about_file)

    [task] = json.loads((tmp_path / "tasks.json").read_text())
    assert (task["id"], task["data"]["image"]) == (1, address)
    results = task["annotations"][0]["result"]
    assert len({row["id"] for row in results}) == len(results) == 2
    config = ElementTree.parse(tmp_path / "label_config.xml").getroot()
    choices = {row.get("alias"): row.get("value") for row in config.iterfind("Choices/Choice")}
    assert choices == CLASSES
    assert {row.get("name") for row in config} == {"image", "classes", "boxes"}
    assert labels_in("label-studio", tmp_path / "tasks.json") == [label]


@for_each(
    "base",
    [
        *("images", "https:/host", "https://ho st/", "//\n", "x" * 600),
        *("https:///", "s3://", "https://[::1", "https://host:99999999/", "//evil/"),
    ],
)
def test_an_image_base_that_is_no_address_is_refused(base):
    with pytest.raises(BadInput, match="is not an address; use an address such as"):
        check_base(base)


def test_label_studio_of_others_gives_choices_and_boxes(tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(
        json.dumps(
            [
                {
                    "data": {"image": "a.jpg"},
                    "annotations": [
                        {"was_cancelled": True, "result": [{"type": "choices"}]},
                        {
                            "result": [
                                {"type": "choices", "value": {"choices": ["dog", "cat"]}},
                                {
                                    "type": "rectanglelabels",
                                    "original_width": 200,
                                    "original_height": 100,
                                    "value": {
                                        "x": 10,
                                        "y": 10,
                                        "width": 50,
                                        "height": 50,
                                        "rectanglelabels": ["cat"],
                                    },
                                },
                            ]
                        },
                    ],
                }
            ]
        )
    )

    assert labels_in("label-studio", path) == [
        Label("a.jpg", "cat", instances=boxed((20, 10, 120, 60))),
        Label("a.jpg", "dog"),
    ]


FAULTS = [
    ("csv", "image\na\n", "line 2: has no class"),
    ("csv", "image,class,colour\na,b,c\n", "unknown column 'colour'"),
    ("csv", "image,class\na\n", "the row has 1 cells, the header 2"),
    ("csv", "image,class,value\na,b,maybe\n", "has the value 'maybe'"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,1,2,,\n", "part of a box"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,5,2,5,9\n", "x0 < x1 and y0 < y1"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,nan,2,5,9\n", "x0 < x1 and y0 < y1"),
    ("csv", "image,class,probability\na,b,high\n", "'high' where a number belongs"),
    ("csv", "image,class\n,b\n", "the image's name is ''"),
    ("jsonl", '{"image": "a"}\n', "is not a label"),
    ("jsonl", "[[[\n", "is not a label"),
    ("jsonl", '{"image": "a", "class": 3}\n', "the class is 3"),
    ("jsonl", '{"image": "a", "class": "b", "geometry": {"boxes": [[1]]}}\n', "has the box [1]"),
    ("coco", "{", "is not JSON"),
    ("coco", "[]", "is not a JSON object"),
    ("coco", '{"images": [{"id": 1}], "categories": []}', "image 1's name is None"),
    (
        "coco",
        '{"images": [], "categories": [], "annotations": [{"image_id": 1}]}',
        "annotation 1: unknown image_id 1",
    ),
    ("voc", "<annotation>", "is not XML"),
    ("voc", '<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "declares entities"),
    ("voc", "<annotation><object><name>d</name></object></annotation>", "has no bndbox"),
    ("label-studio", "{}", "is not a JSON list"),
    ("label-studio", '[{"data": {}}]', "task 1 has no data.image"),
    (
        "label-studio",
        '[{"data": {"image": 5}, "annotations": [{"result": [{"type": "choices", "value": '
        '{"choices": ["n1"]}}]}]}]',
        "task 1's name is 5",
    ),
]


@for_each(("name", "content", "message"), FAULTS)
def test_a_fault_is_named_with_its_file_and_cure(name, content, message, tmp_path):
    path = tmp_path / "in.xml"
    path.write_text(content)

    with pytest.raises(BadInput) as refused:
        labels_in(name, path)

    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert refused.value.cure


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(b"\xff\xfe\x00image,class\n")

    for name in ("csv", "jsonl"):
        with pytest.raises(BadInput, match="UTF-8"):
            labels_in(name, path)


UNSOUND = [
    ("labels.jsonl", '{"image": "a\\u0000.png", "class": "n1"}', "NUL"),
    ("labels.jsonl", '{"image": "a.png", "class": "\\ud800"}', "surrogate"),
    (
        "labels.jsonl",
        '{"image": "a.png", "class": "n", "geometry": {"boxes": [[0, 0, 1e999, 9]]}}',
        "x0 < x1 and y0 < y1",
    ),
    (
        "labels.jsonl",
        '{"image": "a.png", "class": "n", "geometry": {"polygons": [[1e999, 2]]}}',
        "corner 1 is not two finite numbers",
    ),
    (
        "labels.json",
        '{"images": [{"id": [], "file_name": "a"}], "categories": []}',
        "image 1 has the id",
    ),
    (
        "labels.json",
        '{"images": [{"id": 1, "file_name": "a", "labels": 5}], "categories": []}',
        "odd labels",
    ),
    (
        "labels.json",
        '{"images": [{"id": 1, "file_name": "a", "labels": [{"category_id": []}]}],'
        ' "categories": []}',
        "unknown category",
    ),
]


@for_each(("name", "text", "message"), UNSOUND)
def test_what_no_database_keeps_is_refused_by_the_reader(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    form = "coco" if name.endswith(".json") else "jsonl"

    with pytest.raises(BadInput, match=message):
        labels_in(form, tmp_path / name)
