import json
from itertools import groupby

import pytest

from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.formats.label import About, Label, Photo

PHOTOS = [
    Photo("birds/coot 1.jpg", 640, 480, "a" * 64, "CC BY 4.0", "a pond"),
    Photo("=cmd.png", 99, 33, "b" * 64),
    Photo("plain.png", 10, 10, "c" * 64),
]
CLASSES = {"n01514668": "bird", "n02084071": "dog, <hound>"}
LABELS = [
    Label(
        PHOTOS[0].name,
        "n01514668",
        "yes",
        "explicit",
        0.9931,
        boxes=((0.0, 0.0, 64.0, 48.0), (10.0, 12.0, 600.0, 480.0)),
        name="bird",
        source="somebody",
    ),
    Label(PHOTOS[0].name, "n02084071", "no", "inherited", None, name="dog, <hound>"),
    Label(PHOTOS[1].name, "n01514668", "unknown", "explicit", 0.5, name="bird"),
    Label(PHOTOS[1].name, "n02084071", "yes", "given", None, name="dog, <hound>", source="-1"),
    Label(PHOTOS[2].name, "n02084071", "no", "given", None, name="dog, <hound>", source="x"),
]


def written(name, folder):
    by_image = {image: list(rows) for image, rows in groupby(LABELS, key=lambda row: row.image)}
    FORMATS[name].write(
        ((photo, by_image[photo.name]) for photo in PHOTOS), folder, About("test", CLASSES)
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

    found = list(FORMATS[name].read(path))

    def plain(label):
        # CSV has no column for names, and a place is no part of a label.
        unsaid = {"name", "place"} if name == "csv" else {"place"}
        return tuple(value for part, value in vars(label).items() if part not in unsaid)

    key = [plain(label) for label in LABELS]
    assert sorted(map(plain, found), key=str) == sorted(key, key=str)
    assert not list(tmp_path.rglob("*.part"))


def test_polygons_come_back_from_json_lines_and_coco(tmp_path):
    label = Label("a.png", "n01514668", polygons=((0.0, 0.0, 9.0, 0.0, 9.0, 9.0),), name="bird")
    page = [(Photo("a.png", 10, 10), [label])]

    for name, file in (("jsonl", "labels.jsonl"), ("coco", "labels.json")):
        FORMATS[name].write(page, tmp_path, About("test", CLASSES))

        assert list(FORMATS[name].read(tmp_path / file)) == [label]


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
                        "segmentation": {"counts": "…", "size": [9, 9]},
                    },
                ],
            }
        )
    )

    assert list(FORMATS["coco"].read(path)) == [
        Label("a.jpg", "dog", boxes=((1, 2, 4, 6), (5, 5, 6, 6)), name="dog")
    ]


def test_voc_of_others_counts_pixels_from_one(tmp_path):
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations" / "1.xml").write_text(
        "<annotation><filename>1.jpg</filename><object><name>dog</name><bndbox><xmin>1</xmin>"
        "<ymin>1</ymin><xmax>10</xmax><ymax>20</ymax></bndbox></object></annotation>"
    )

    assert list(FORMATS["voc"].read(tmp_path)) == [
        Label("1.jpg", "dog", boxes=((0.0, 0.0, 10.0, 20.0),))
    ]


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

    assert list(FORMATS["label-studio"].read(path)) == [
        Label("a.jpg", "cat", boxes=((20, 10, 120, 60),)),
        Label("a.jpg", "dog"),
    ]


FAULTS = [
    ("csv", "image\na\n", "lacks the column class"),
    ("csv", "image,class,colour\na,b,c\n", "has the column 'colour'"),
    ("csv", "image,class\na\n", "another number of cells"),
    ("csv", "image,class,value\na,b,maybe\n", "has the value 'maybe'"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,1,2,,\n", "part of a box"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,5,2,5,9\n", "empty box"),
    ("csv", "image,class,x0,y0,x1,y1\na,b,nan,2,5,9\n", "empty box"),
    ("csv", "image,class,probability\na,b,high\n", "'high' where a number belongs"),
    ("csv", "image,class\n,b\n", "names no image"),
    ("jsonl", '{"image": "a"}\n', "is no label"),
    ("jsonl", "[[[\n", "is no label"),
    ("jsonl", '{"image": "a", "class": 3}\n', "of the wrong type"),
    ("jsonl", '{"image": "a", "class": "b", "geometry": {"boxes": [[1]]}}\n', "wrong type"),
    ("coco", "{", "is not JSON"),
    ("coco", "[]", "is no COCO file"),
    ("coco", '{"images": [{"id": 1}], "categories": []}', "is no COCO file"),
    (
        "coco",
        '{"images": [], "categories": [], "annotations": [{"image_id": 1}]}',
        "annotation 1 names the image 1",
    ),
    ("voc", "<annotation>", "is not XML"),
    ("voc", '<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "declares entities"),
    ("voc", "<annotation><object><name>d</name></object></annotation>", "names no image"),
    ("label-studio", "{}", "no list of tasks"),
    ("label-studio", '[{"data": {}}]', "task 1 is not as Label Studio"),
]


@pytest.mark.parametrize(("name", "content", "said"), FAULTS)
def test_a_fault_is_named_with_its_file_and_cure(name, content, said, tmp_path):
    path = tmp_path / "in.xml"
    path.write_text(content)

    with pytest.raises(BadInput) as refused:
        list(FORMATS[name].read(path))

    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert refused.value.cure


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(b"\xff\xfe\x00image,class\n")

    for name in ("csv", "jsonl"):
        with pytest.raises(BadInput, match="UTF-8"):
            list(FORMATS[name].read(path))


UNSOUND = [
    ("labels.jsonl", '{"image": "a\\u0000.png", "class": "n1"}', "NUL"),
    ("labels.jsonl", '{"image": "a.png", "class": "\\ud800"}', "surrogate"),
    (
        "labels.jsonl",
        '{"image": "a.png", "class": "n", "geometry": {"boxes": [[0, 0, 1e999, 9]]}}',
        "empty box",
    ),
    (
        "labels.jsonl",
        '{"image": "a.png", "class": "n", "geometry": {"polygons": [[1e999, 2]]}}',
        "no number",
    ),
    ("labels.json", '{"images": [{"id": [], "file_name": "a"}], "categories": []}', "COCO"),
    (
        "labels.json",
        '{"images": [{"id": 1, "file_name": "a", "labels": 5}], "categories": []}',
        "COCO has it",
    ),
    (
        "labels.json",
        '{"images": [{"id": 1, "file_name": "a", "labels": [{"category_id": []}]}],'
        ' "categories": []}',
        "COCO has it",
    ),
]


@pytest.mark.parametrize(("name", "text", "said"), UNSOUND)
def test_what_no_database_keeps_is_refused_by_the_reader(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    form = FORMATS["coco" if name.endswith(".json") else "jsonl"]

    with pytest.raises(BadInput, match=said):
        list(form.read(tmp_path / name))
