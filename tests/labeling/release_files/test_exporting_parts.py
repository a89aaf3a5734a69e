"""Objects with parts out of a release, in the formats of others, and back with equal geometry."""

import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO

from labeling.errors import Refusal
from labeling.exchange import export_files
from labeling.files import BadInput
from labeling.formats.reading import LabelReading
from labeling.geometry.regions import mask_of
from labeling.models import Release
from labeling.parts import background
from labeling.parts.model import PartedObject
from labeling.release_files import exporting, frozen
from labeling.release_files.frozen import Frozen
from labeling.releases import freezing
from tests import factories
from tests.labeling import part_releases as cats
from tests.labeling.parted import CAT, COW


@pytest.fixture(scope="module")
def built(once) -> int:
    with once():
        return cats.release(*factories.cast()).pk


@pytest.fixture
def row(built, afresh) -> Release:
    return Release.objects.get(pk=built)


@pytest.fixture
def release(row) -> Frozen:
    return freezing.read(row)


def drawn(release: Frozen) -> list[PartedObject]:
    """What people or files told of, without the rest."""
    return [background.without_rest(thing) for _, objects in release.objects() for thing in objects]


def test_an_export_counts_objects_and_parts_by_origin_and_state(release, tmp_path):
    counts = exporting.export(release, "coco", tmp_path / "out")

    assert (counts.images, counts.objects) == (3, 3)
    assert counts.parts == {
        "explicit": {"drawn": 5, "not_visible": 2, "occluded": 1},
        "given": {"drawn": 1},
    }


def test_an_export_is_a_release_with_the_same_objects(release, tmp_path):
    exporting.export(release, "coco", tmp_path / "out")

    again = frozen.read(tmp_path / "out")

    assert list(again.objects()) == list(release.objects())
    assert again.meta["export"]["release_sha256"] == release.meta["sha256"]


# pycocotools' own array, not ours.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_pycocotools_reads_every_part_as_it_was_drawn(release, tmp_path, capsys):
    exporting.export(release, "coco", tmp_path / "out", options=exporting.FormatOptions(rest=True))

    coco = COCO(str(tmp_path / "out" / "parts.json"))

    capsys.readouterr()
    names = {row["name"] for row in coco.loadCats(coco.getCatIds())}
    assert {"cat", "cow", "cat head", "cow head", "cat torso", "cat leg"} <= names
    parts = {
        (coco.loadImgs(row["image_id"])[0]["file_name"], row.get("object_id"), row["part"]): row
        for row in coco.loadAnns(coco.getAnnIds())
        if "part" in row
    }
    masks = 0
    for photo, objects in release.objects():
        box = (0, 0, photo.width, photo.height)
        for part in (part for thing in objects for part in thing.parts if part.polygons):
            expected = mask_of(part.polygons, box)
            same = [
                coco.annToMask(row).astype(bool)
                for (image, _, key), row in parts.items()
                if (image, key) == (photo.name, part.key)
            ]
            assert any(np.array_equal(expected, mask) for mask in same)
            masks += 1
    assert masks == 10


def categories_of(folder) -> list[dict]:
    return json.loads((folder / "parts.json").read_text())["categories"]


def test_categories_of_coco_have_names_of_their_own_ids_from_one_and_their_class(release, tmp_path):
    exporting.export(release, "coco", tmp_path / "out")

    categories = categories_of(tmp_path / "out")

    names = [row["name"] for row in categories]
    assert len(set(names)) == len(names)
    assert {"cat", "cow", "cat head", "cow head"} <= set(names)
    assert [row["id"] for row in categories] == list(range(1, len(categories) + 1))
    whole = {row["name"]: row.get("supercategory") for row in categories}
    assert (whole["cat"], whole["cat head"], whole["cow head"]) == (None, "cat", "cow")


def test_plain_names_of_coco_are_those_of_the_vocabulary(release, tmp_path):
    plain = exporting.FormatOptions(names="plain")
    exporting.export(release, "coco", tmp_path / "out", options=plain)

    categories = categories_of(tmp_path / "out")

    assert [row["name"] for row in categories].count("head") == 2
    assert {row["supercategory"] for row in categories if row["name"] == "head"} == {"cat", "cow"}


def test_coco_has_the_rest_only_where_it_is_asked_for(release, tmp_path):
    exporting.export(release, "coco", tmp_path / "out")
    exporting.export(release, "coco", tmp_path / "with", options=exporting.FormatOptions(rest=True))

    def rest_in(folder):
        names = [row["name"] for row in categories_of(tmp_path / folder)]
        return [name for name in names if "unlabeled-rest" in name]

    assert rest_in("out") == []
    assert "cat unlabeled-rest-object" in rest_in("with")


def test_options_of_another_format_or_release_are_refused(release, tmp_path):
    cases = [
        (
            "csv",
            {"names": "plain"},
            "names is not an option of csv for this campaign; leave it out",
        ),
        ("png", {"rest": True}, "it is for coco of objects with parts"),
        ("coco", {"image_base": "https://host/"}, "image-base is not an option of coco"),
        (
            "label-studio",
            {"image_base": "host"},
            "'host' is not an address; use an address such as",
        ),
    ]
    for name, options, message in cases:
        with pytest.raises(BadInput, match=message):
            exporting.export(
                release, name, tmp_path / "out", options=exporting.FormatOptions(**options)
            )

    assert not (tmp_path / "out").exists()


def test_parts_and_rest_share_no_pixel_and_leave_none_in_the_crop(release):
    for photo, objects in release.objects():
        box = (0, 0, photo.width, photo.height)
        for thing in objects:
            shares = [mask_of(part.polygons, box) for part in thing.parts if part.polygons]
            crop = np.zeros((photo.height, photo.width), int)
            x0, y0, x1, y1 = map(int, thing.crop)
            crop[y0:y1, x0:x1] = 1

            assert np.array_equal(sum(mask.astype(int) for mask in shares), crop)


@pytest.mark.parametrize("name", ["coco"])
def test_reading_our_own_export_gives_equal_vertices_states_and_origins(release, tmp_path, name):
    exporting.export(release, name, tmp_path / "out")

    read = exporting.OBJECT_FORMATS[name].read(LabelReading(tmp_path / "out" / "parts.json"))
    back = sorted(
        (background.without_rest(thing) for thing in read),
        key=lambda parted: (parted.image, parted.name),
    )

    for before, after in zip(drawn(release), back, strict=True):
        assert after.category == before.category
        assert after.outline == before.outline
        assert (after.box, after.crop) == (before.box, before.crop)
        assert [(p.key, p.state, p.origin, p.polygons) for p in after.parts] == [
            (p.key, p.state, p.origin, p.polygons) for p in before.parts
        ]
        assert [(p.radius, p.pieces, p.apart) for p in after.parts] == [
            (p.radius, p.pieces, p.apart) for p in before.parts
        ]


@pytest.mark.parametrize(("name", "folder"), [("pascal-part", "Annotations_Part"), ("png", "")])
def test_reading_our_own_masks_gives_an_iou_of_one(release, tmp_path, name, folder):
    exporting.export(release, name, tmp_path / "out")
    sizes = {photo.name: (photo.width, photo.height) for photo, _ in release.objects()}

    read = exporting.OBJECT_FORMATS[name].read(LabelReading(tmp_path / "out" / folder))
    back = {(thing.image, thing.name): thing for thing in read}

    for before in drawn(release):
        after = {part.key: part for part in back[before.image, before.name].parts}
        box = (0, 0, *sizes[before.image])
        for part in before.parts:
            assert (after[part.key].state, after[part.key].origin) == (part.state, part.origin)
            assert np.array_equal(
                mask_of(after[part.key].polygons, box), mask_of(part.polygons, box)
            )


def test_label_formats_say_which_categories_an_image_shows_and_where(release, tmp_path):
    counts = exporting.export(release, "csv", tmp_path / "out")

    assert counts.labels == {"explicit": {"yes": 3, "unknown": 1}}
    assert (tmp_path / "out" / "labels.csv").read_text().splitlines()[1:] == [
        f"cats/0.png,{COW},yes,explicit,,0,0,20,20,,,,,",
        f"cats/0.png,{CAT},yes,explicit,,8,6,56,42,,,,,",
        f"cats/1.png,{CAT},yes,explicit,,8,6,56,42,,,,,",
        f"cats/2.png,{CAT},unknown,explicit,,,,,,,,,,",
    ]


def test_pictures_show_every_object_with_a_legend(row, release, tmp_path):
    counts = exporting.export(release, "pictures", tmp_path / "out", export_files.images_of(row))

    files = sorted(path.relative_to(tmp_path / "out") for path in tmp_path.rglob("*-1.png"))
    assert [str(path) for path in files] == [
        "pictures/cats/0.png/cat-1.png",
        "pictures/cats/0.png/cow-1.png",
        "pictures/cats/1.png/cat-1.png",
    ]
    assert counts.objects == 3
    with Image.open(tmp_path / "out" / files[0]) as picture:
        assert picture.width == 780
        # The crop has 58 x 44 pixels; the head lies 7 to 19 right of its corner, 6 to 18 below.
        scale = 780 / 58
        head = picture.getpixel((round(10 * scale), round(9 * scale)))
        plain = picture.getpixel((round(2 * scale), round(2 * scale)))
        assert head != plain
        assert picture.height > 44 * scale


def test_pictures_need_the_photographs(release, tmp_path):
    with pytest.raises(
        BadInput, match=r"the photograph cats/0.png is not at hand; name the folder"
    ):
        exporting.export(release, "pictures", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_format_of_another_kind_is_refused_with_those_there_are(alice, release, row, tmp_path):
    release.meta["campaign"]["kind"] = "contains"
    with pytest.raises(BadInput, match="cannot be exported as pictures; choose one of: csv"):
        exporting.export(release, "pictures", tmp_path / "out")

    with pytest.raises(Refusal, match="Choose one of: coco, pascal-part, png"):
        export_files.fetch(row, "sql")


def test_a_zip_of_pictures_comes_from_the_datasets_storage(row):
    with export_files.fetch(row, "pictures") as file, zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.endswith(".png")]
        content = archive.read(names[0])

    assert names[0] == "cats-1/pictures/cats/0.png/cat-1.png"
    assert Image.open(io.BytesIO(content)).width == 780


def test_many_pictures_are_a_jobs_work_and_few_objects_are_not(row):
    row.counts = row.counts | {"objects": 100}

    assert export_files.work(row, "pictures") > export_files.MAX_WORK_IN_REQUEST
    assert export_files.work(row, "coco") < export_files.MAX_WORK_IN_REQUEST


def test_a_missing_photograph_is_said(row, dataset):
    image = dataset.images.get(name="cats/1.png")
    image.file.storage.delete(image.file.name)
    image.display = image.thumbnail = ""
    image.save()

    with pytest.raises(Refusal, match="missing on the server"):
        export_files.fetch(row, "pictures")


@pytest.mark.parametrize("name", exporting.formats_of("parts"))
def test_two_exports_of_a_release_are_the_same_bytes(row, release, tmp_path, name):
    first, two = (
        exporting.export(release, name, tmp_path / out, export_files.images_of(row)).sha256
        for out in ("one", "two")
    )

    assert first == two
