"""Label files of other tools: each comes in whole, or is refused alike, by every door.

The doors: labels import, labels import --parts, score detection, the API.
"""

import json
import unicodedata
from pathlib import Path

import pytest

from labeling.formats.label import instances_of
from labeling.models import GivenLabel, Image
from tests import factories
from tests.cases import for_each
from tests.clients import API, program
from tests.labeling import label_files as files

DOG, CUP = "n02084071", "n03147509"
WIDTH, HEIGHT = 100, 60
SQUARE = [10, 10, 30, 10, 30, 30, 10, 30]
BOX = (10.0, 10.0, 30.0, 30.0)
NFC = "café.jpg"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.fixture
def pond(alice):
    dataset = factories.make_dataset(alice)
    for name in ("a.jpg", "b.jpg", "sub1/img.jpg", "sub2/img.jpg", "d.rgb.jpg", NFC):
        factories.make_image(dataset, name)
    dataset.images.update(width=WIDTH, height=HEIGHT)
    return dataset


def coco(*rows, images=(("a.jpg", WIDTH, HEIGHT), ("b.jpg", WIDTH, HEIGHT)), **more):
    """Annotations of a dog in the first image, as a file of COCO."""
    usual = {"image_id": 1, "category_id": 1}
    return {
        "images": [
            {"id": n, "file_name": name, "width": width, "height": height}
            for n, (name, width, height) in enumerate(images, 1)
        ],
        "categories": [{"id": 1, "name": DOG}, {"id": 2, "name": CUP}],
        "annotations": [{"id": n, **usual, **row} for n, row in enumerate(rows, 1)],
        **more,
    }


def task(*results, **more):
    usual = {"id": "r", "original_width": WIDTH, "original_height": HEIGHT, "from_name": "l"}
    rows = [{**usual, **row} for row in results]
    return [{"data": {"image": "a.jpg"}, "annotations": [{"result": rows}], **more}]


def shape(kind, **value):
    return {"type": kind, "value": {"rotation": 0, **value, kind: [DOG]}}


def voc(
    *objects, name="a.jpg", size=f"<size><width>{WIDTH}</width><height>{HEIGHT}</height></size>"
):
    return f"<annotation><filename>{name}</filename>{size}{''.join(objects)}</annotation>"


def thing(inside="", box=(11, 11, 30, 30), name=DOG):
    edges = zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    bndbox = "".join(f"<{edge}>{value}</{edge}>" for edge, value in edges)
    return f"<object><name>{name}</name>{inside}<bndbox>{bndbox}</bndbox></object>"


def written(folder: Path, content) -> Path:
    """The content as a file of its format; a dict of texts as a folder of XML."""
    if isinstance(content, list) or (isinstance(content, dict) and "images" in content):
        path = folder / "labels.json"
        path.write_text(json.dumps(content, ensure_ascii=False))
    elif isinstance(content, dict):
        path = folder / "xml"
        for name, text in content.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    else:
        path = folder / ("labels.jsonl" if content.startswith("{") else "labels.csv")
        path.write_text(content)
    return path


def instances(pond, image="a.jpg", key=DOG):
    label = GivenLabel.objects.get(item__image__dataset=pond, item__image__name=image, key=key)
    return instances_of(label.geometry)


TAKEN = [
    # Rows of one class that are not neighbours, in one file and in two.
    (
        f"image,class,x0,y0,x1,y1\na.jpg,{DOG},1,1,5,5\nb.jpg,{DOG},1,1,5,5\na.jpg,{DOG},10,10,30,30\n",
        2,
    ),
    (
        f"image,class,x0,y0,x1,y1\na.jpg,{DOG},1,1,5,5\na.jpg,{CUP},1,1,5,5\na.jpg,{DOG},10,10,30,30\n",
        2,
    ),
    ("image;wnid\n".replace(";", ",") + f"a.jpg, {DOG} \n", 0),
    (f"image,topic,x0,y0,x1,y1\na.jpg,{DOG},10,10,30,30\n", 1),
    (
        f'{{"image": "a.jpg", "class": "{DOG}", "geometry": {{"boxes": [[1, 1, 5, 5]]}}}}\n'
        f'{{"image": "b.jpg", "class": "{DOG}"}}\n'
        f'{{"image": "a.jpg", "class": "{DOG}", "geometry": {{"polygons": [{SQUARE}]}}}}\n',
        2,
    ),
    (
        coco(
            {"bbox": [1, 1, 4, 4]},
            {"image_id": 2, "bbox": [1, 1, 4, 4]},
            {"bbox": [10, 10, 20, 20]},
        ),
        2,
    ),
    (coco({"bbox": [10, 10, 20, 20], "segmentation": [[]]}), 1),
    (coco({"bbox": [10, 10, 20, 20], "segmentation": []}), 1),
    (coco({"bbox": [10, 10, 20, 20], "segmentation": None}), 1),
    (coco({"segmentation": [[], SQUARE]}), 1),
    (coco({"segmentation": [[*SQUARE, 10, 10]]}), 1),
    (coco({"bbox": [10, 10, 20, 20]}, images=(("elsewhere/a.png", WIDTH, HEIGHT),)), 1),
    (coco({"bbox": [10, 10, 20, 20]}, {"bbox": [29.6, 38.3, 1.03, 0.0], "area": 0.0}), 1),
    ({"a.xml": voc(thing(box=(2, 2, 5, 5))), "b.xml": voc(thing())}, 2),
    ({"a.xml": voc(thing(), size="")}, 1),
    ({"a.xml": voc(thing(), name="a")}, 1),
    ({"deep/a.xml": voc(thing())}, 1),
    (
        {
            "a.xml": (
                '<?xml version="1.0" encoding="GBK"?>' + voc(thing("<pose>左</pose>"))
            ).encode("gbk")
        },
        1,
    ),
    (
        {
            "a.xml": ("<?xml version='1.0' encoding='Shift_JIS'?>" + voc(thing())).encode(
                "shift_jis"
            )
        },
        1,
    ),
    ({"a.xml": ('<?xml version="1.0" encoding="big5"?>' + voc(thing())).encode("big5")}, 1),
    ({"a.xml": ('<?xml version="1.0" encoding="utf-16"?>' + voc(thing())).encode("utf-16")}, 1),
    (task(shape("rectanglelabels", x=10, y=100 / 6, width=20, height=100 / 3)), 1),
    (task(shape("polygonlabels", points=[[10, 20], [50, 20], [50, 60]])), 1),
    (task(shape("ellipselabels", x=50, y=50, radiusX=10, radiusY=10)), 1),
    (
        task(
            shape("rectanglelabels", x=10, y=20, width=20, height=30),
            {"type": "relation", "from_id": "r", "to_id": "s", "direction": "right"},
        ),
        1,
    ),
    (
        task(
            {"type": "rectangle", "value": {"x": 10, "y": 20, "width": 20, "height": 30}},
            {
                "type": "labels",
                "value": {"x": 10, "y": 20, "width": 20, "height": 30, "labels": [DOG]},
            },
        ),
        1,
    ),
    (
        task(
            shape("rectanglelabels", x=10, y=20, width=20, height=30),
            {"type": "choices", "from_name": "quality", "id": "q", "value": {"choices": ["good"]}},
        ),
        1,
    ),
]


@pytest.mark.parametrize(("content", "count"), TAKEN, ids=range(len(TAKEN)))
def test_every_instance_of_a_file_comes_in(content, count, pond, shell, tmp_path):
    path = written(tmp_path, content)

    status = shell("labels", "import", "pond", path, "--json")[0]

    assert status == 0
    assert len(instances(pond)) == count
    assert not GivenLabel.objects.filter(key="good").exists()


REFUSED = [
    (coco({"bbox": [1, 1, 4, 4]}, images=(("a.jpg", 100, 60),) * 2), "'a.jpg' occurs twice"),
    (
        coco({"bbox": [1, 1, 4, 4]})
        | {"images": [{"id": 1, "file_name": n} for n in ("a.jpg", "b.jpg")]},
        "image 2: the id 1 occurs twice",
    ),
    (
        coco({"bbox": [1, 1, 4, 4]})
        | {"categories": [{"id": 1, "name": DOG}, {"id": 1, "name": CUP}]},
        "category 2: the id 1 occurs twice",
    ),
    (coco(*[{"id": 7, "bbox": [1, 1, 4, 4]}] * 2), "annotation 2: the id 7 occurs twice"),
    (
        coco({"segmentation": [SQUARE[:7]]}),
        "annotation 1: its segmentation is neither rings nor RLE",
    ),
    (coco({"segmentation": [SQUARE[:4]]}), "has 2 different corners"),
    (coco({"bbox": [1, 1, 9, 9], "segmentation": SQUARE}), "annotation 1: its segmentation"),
    (coco({"bbox": [1, 1, 9, 9], "segmentation": [{"size": [60, 100]}]}), "annotation 1: its seg"),
    (coco({"segmentation": [[10, 10, 30, 30, 30, 10, 10, 30]]}), "crosses or touches itself"),
    (coco({"segmentation": [[10, 10, 20, 10, 30, 10]]}), "no area"),
    (coco({"bbox": [90, 50, 200, 200]}), "annotation 1: the box leaves its image of 100 × 60"),
    (coco({"bbox": [-30, -5, 40, 40]}), "annotation 1: the box leaves its image"),
    (coco({"segmentation": [[-30, 30, 50, 5, 50, 55]]}), "lies outside the image"),
    (coco({"bbox": {"x": 10}}), "annotation 1: bbox is {'x': 10}"),
    (coco({"bbox": [10, 10, -5, 5]}), "annotation 1: bbox is"),
    (coco({"bbox": [10, 10, float("nan"), 5]}), "annotation 1: bbox is"),
    (coco({"category_id": 9, "bbox": [1, 1, 4, 4]}), "annotation 1: unknown category_id 9"),
    (coco({"image_id": 9, "bbox": [1, 1, 4, 4]}), "annotation 1: unknown image_id 9"),
    (task(shape("rectanglelabels", x=-5, y=20, width=120, height=30)), "the box leaves its image"),
    (task(shape("polygonlabels", points=[[10, 20], [90, 80], [90, 20], [10, 80]])), "crosses"),
    (
        task(shape("rectanglelabels", x=1, y=1, width=5, height=5) | {"image_rotation": 90}),
        "drawn on a turned image",
    ),
    (f"image;wnid;x0;y0;x1;y1\na.jpg;{DOG};1;1;5;5\n", "has semicolons between its cells"),
    (f"image,wnid,x0,y0,x1,y1,probability\na.jpg,{DOG},1,1,5,5,2\n", "has the probability 2"),
    (f"image,wnid,x0,y0,x1,y1\na.jpg,{DOG},1,1,5,\n", "has part of a box"),
    (f"image,wnid,x0,y0,x1,y1\n{NFC},{DOG},1,1,5,5\n{NFD},{DOG},1,1,5,5\n", "two Unicode forms"),
    (f"image,wnid,x0,y0,x1,y1\na.jpg,{DOG},9,1,5,5\n", "the box is inverted or empty"),
    ({"a.xml": voc(thing(box=(31, 11, 30, 30)))}, "the box is inverted or empty"),
    ({"a.xml": voc(thing(box=(11, 11, 130, 30)))}, "the box leaves its image"),
    (
        {"a.xml": voc(f"<object><name>{DOG}</name><robndbox><cx>3</cx></robndbox></object>")},
        "object 1 has no bndbox, only a robndbox",
    ),
    ({"a.xml": "<annotations><image/></annotations>"}, "is not a PASCAL VOC file"),
    ({"a.xml": '<?xml version="1.0" encoding="utf8mb4"?><annotation/>'}, "an encoding that is not"),
    ({"a.xml": b"<annotation><filename>\xff</filename></annotation>"}, "is not XML"),
    (
        f'{{"image": "a.jpg", "class": "{DOG}", "geometry": {{"polygons": [[1, 1, 2]]}}}}\n',
        "not a ring of three or more x, y pairs",
    ),
    (
        f'{{"image": "a.jpg", "class": "{DOG}", '
        '"geometry": {"polygons": [[1, 1, 9, 9, 9, 1, 1, 9]]}}',
        "crosses or touches itself",
    ),
    (f'{{"image": "a.jpg", "class": "{DOG}", "probability": -0.1}}\n', "has the probability"),
]


@for_each(("content", "message"), REFUSED)
@pytest.mark.usefixtures("wordnet")
def test_what_one_door_refuses_all_refuse_in_the_same_words(
    content, message, pond, alice, shell, tmp_path
):
    path = written(tmp_path, content)
    table = tmp_path / "found.csv"
    table.write_text(f"image,wnid,confidence,x0,y0,x1,y1\na.jpg,{DOG},0.9,1,1,5,5\n")

    answers = [shell("labels", "import", "pond", path, "--json")]
    if path.suffix in {".json", ".csv"}:
        answers.append(
            shell("labels", "import", "pond", path, "--parts", "--vocabulary", "shipped")
        )
    answers.append(shell("score", "detection", "--truth", path, "--predictions", table, "--json"))

    assert [(status, message.lower() in err.lower()) for status, _, err in answers] == [
        (1, True)
    ] * len(answers)
    if path.is_file():
        upload = files.upload(path.read_bytes(), path.name)
    else:
        content = {
            name.relative_to(path).as_posix(): name.read_bytes() for name in path.rglob("*.xml")
        }
        upload = next(files.upload(raw, "a.xml") for raw in content.values())
    response = program(alice).post(
        f"{API}datasets/pond/labels/", {"file": upload}, format="multipart"
    )
    assert response.status_code == 400
    assert message.lower() in response.json()["detail"].lower()
    assert not GivenLabel.objects.exists()


def test_one_annotation_of_two_rings_is_one_object_in_and_out(pond, shell, tmp_path):
    ring = [50, 10, 70, 10, 70, 30, 50, 30]
    shell.result(
        "labels", "import", "pond", written(tmp_path, coco({"segmentation": [SQUARE, ring]}))
    )

    [instance] = instances(pond)

    assert instance.box == (10, 10, 70, 30)
    assert len(instance.polygons) == 2


def test_repair_keeps_what_lies_inside_the_image(pond, shell, tmp_path):
    rows = [{"segmentation": [[-30, 30, 50, 5, 50, 55]]}, {"bbox": [90, 50, 200, 200]}]
    path = written(tmp_path, coco(*rows, {"bbox": [200, 200, 9, 9]}))

    status, out, err = shell("labels", "import", "pond", path, "--repair", "--json")

    drawn, boxed = sorted(instances(pond), key=lambda box: box.box)
    assert status == 0
    assert boxed.box == (90, 50, 100, 60)
    [[ring]] = drawn.polygons
    assert sorted(ring) == [(0.0, 20.6), (0.0, 39.4), (50.0, 5.0), (50.0, 55.0)]
    assert json.loads(out)["skipped"] == [
        {"what": "object", "count": 1, "why": "it is outside its image", "first": "annotation 3"}
    ]
    assert "skipped" in err


@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (200, 120)])
def test_shapes_drawn_on_an_image_of_another_size_are_refused(size, pond, shell, tmp_path):
    path = written(tmp_path, coco({"bbox": [1, 1, 9, 9]}, images=(("a.jpg", *size),)))

    for more in ((), ("--parts", "--vocabulary", "shipped")):
        fault = shell("labels", "import", "pond", path, *more)[2]
        assert f"drawn on {size[0]} x {size[1]} pixels, but the image has 100 x 60" in fault


def test_boxes_of_files_without_a_size_are_held_to_the_image(pond, shell, tmp_path):
    path = written(tmp_path, f"image,class,x0,y0,x1,y1\na.jpg,{DOG},70,10,125,50\n")

    fault = shell.refusal("labels", "import", "pond", path)

    assert fault["error"] == "Line 2: the box leaves its image of 100 × 60 pixels"


def test_voc_that_counts_from_nought_fills_its_image(pond, shell, tmp_path):
    shell.result(
        "labels", "import", "pond", written(tmp_path, {"a.xml": voc(thing(box=(0, 0, 100, 60)))})
    )

    assert [drawn.box for drawn in instances(pond)] == [(0, 0, 100, 60)]


FLAGGED = [
    (coco({"bbox": [10, 10, 20, 20], "iscrowd": 1}), ("group",)),
    (
        coco({"bbox": [10, 10, 20, 20], "truncated": True, "difficult": 1}),
        ("truncated", "difficult"),
    ),
    (coco({"bbox": [10, 10, 20, 20], "attributes": {"occluded": True}}), ("occluded",)),
    (
        {"a.xml": voc(thing("<truncated>1</truncated><difficult>1</difficult>"))},
        ("truncated", "difficult"),
    ),
    ({"a.xml": voc(thing("<occluded>1</occluded><group>1</group>"))}, ("group", "occluded")),
    (
        f"image,class,x0,y0,x1,y1,flags\na.jpg,{DOG},10,10,30,30,group difficult\n",
        ("group", "difficult"),
    ),
    (
        f'{{"image": "a.jpg", "class": "{DOG}", "geometry": {{"boxes": [[1, 1, 9, 9]]}}, '
        '"flags": [["difficult"]]}\n',
        ("difficult",),
    ),
]


@pytest.mark.parametrize(("content", "flags"), FLAGGED, ids=range(len(FLAGGED)))
def test_flags_of_an_object_stay_with_it(content, flags, pond, shell, tmp_path):
    shell.result("labels", "import", "pond", written(tmp_path, content))

    assert [box.flags for box in instances(pond)] == [flags]


def test_a_turned_rectangle_is_turned_about_its_first_corner(pond, shell, tmp_path):
    turned = shape("rectanglelabels", x=50, y=50, width=20, height=20, rotation=90)
    slanted = shape("rectanglelabels", x=50, y=20, width=20, height=20, rotation=30) | {"id": "s"}

    shell.result("labels", "import", "pond", written(tmp_path, task(turned, slanted)))

    upright, tilted = sorted(instances(pond), key=lambda box: len(box.polygons))
    assert upright.box == (38, 30, 50, 50)
    assert len(tilted.polygons[0][0]) == 4


NOTHING_READ = [
    task(predictions=[{"result": []}]),
    task({"type": "keypointlabels", "value": {"x": 1, "y": 1, "keypointlabels": [DOG]}}),
    task({"type": "rectangle", "value": {"x": 1, "y": 1, "width": 5, "height": 5}}),
    task(shape("rectanglelabels", x=10, y=20, width=0, height=0)),
    coco({"bbox": [10, 10, 0, 0]}),
]


@for_each("content", NOTHING_READ)
def test_a_file_of_which_nothing_can_be_read_is_refused_with_the_reason(
    content, pond, shell, tmp_path
):
    if isinstance(content, list) and "predictions" in content[0]:
        content[0]["annotations"] = []

    fault = shell.refusal("labels", "import", "pond", written(tmp_path, content))

    assert "has no label that could be read: 1 " in fault["error"]


@for_each("content", [coco(), [], "image,class\n"])
def test_a_file_without_entries_is_said_to_have_none(content, pond, shell, tmp_path):
    status, out, err = shell("labels", "import", "pond", written(tmp_path, content), "--json")

    assert (status, json.loads(out)["labels"]) == (0, 0)
    assert "no labels" in err


NAMES = [
    (NFD, NFC),
    ("café", NFC),
    ("photographs/a.jpg", "a.jpg"),
    ("a", "a.jpg"),
    ("a.png", "a.jpg"),
    (r"C:\images\a.jpg", "a.jpg"),
    ("d.rgb", "d.rgb.jpg"),
    ("sub1/img.jpg", "sub1/img.jpg"),
]


@pytest.mark.parametrize(("name", "image"), NAMES, ids=range(len(NAMES)))
def test_an_image_goes_by_its_name_without_folder_or_extension(name, image, pond, shell, tmp_path):
    shell.result("labels", "import", "pond", written(tmp_path, f"image,class\n{name},{DOG}\n"))

    assert GivenLabel.objects.get().item.image.name == image


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["img.jpg"], "'img.jpg' may be sub1/img.jpg, sub2/img.jpg"),
        (["sub3/img"], "'sub3/img' may be sub1/img.jpg, sub2/img.jpg"),
        (["x/a.jpg", "y/a.jpg"], "both mean the image 'a.jpg'"),
        (["d.jpg"], "not in pond"),
    ],
)
def test_a_name_that_several_images_have_is_refused_with_the_list(
    names, message, pond, shell, tmp_path
):
    rows = "".join(f"{name},{DOG}\n" for name in names)
    path = written(tmp_path, f"image,class\n{rows}")

    for more in ((), ("--parts", "--vocabulary", "shipped")):
        assert message in shell("labels", "import", "pond", path, *more)[2]


def test_two_images_that_differ_by_their_normal_form_are_not_guessed(pond, shell, tmp_path):
    factories.make_image(pond, NFD)

    fault = shell.refusal(
        "labels", "import", "pond", written(tmp_path, f"image,class\n{NFC},{DOG}\n")
    )

    assert f"{NFC!r} may be" in fault["error"]
    assert Image.objects.filter(name__in=[NFC, NFD]).count() == 2
