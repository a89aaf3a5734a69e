"""The folder that `publish` writes: tables, card, Croissant, datasheet, DataCite."""

import io
import json
import zipfile

import pytest
import yaml
from PIL import Image as Pillow
from pyarrow import parquet

from evaluation.release_splits import making
from labeling.exchange import export_files
from labeling.files import BadInput
from labeling.models import Image, Item, Job
from labeling.publishing import folder
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.cases import for_each
from tests.labeling.boxers import CAT, DOG
from tests.labeling.publishing import releases

pytestmark = pytest.mark.django_db


def rows(out, name):
    """The rows of a table; a table without rows has no file."""
    path = out / "data" / f"{name}.parquet"
    return parquet.read_table(path).to_pylist() if path.exists() else []


def published(row, out, **options):
    images = export_files.images_of(row)
    return folder.publish(freezing.read(row), out, images, with_images=True, **options)


@for_each("kind", releases.KINDS)
def test_every_kind_of_release_has_its_labels_objects_and_votes(kind, alice, bob, tmp_path):
    row = releases.KINDS[kind](alice, bob, factories.make_dataset(alice, f"of-{kind}"))
    release = freezing.read(row)
    out = tmp_path / kind

    made = published(row, out)

    labels = [(line["image"], line["wnid"], line["value"]) for line in release.labels()]
    assert [(r["image"], r["class"], r["value"]) for r in rows(out, "labels")] == labels
    images = list(release.images())
    assert [r["name"] for r in rows(out, "images")] == [line["name"] for line in images]
    votes = list(release.votes())
    assert [r["annotator"] for r in rows(out, "votes")] == [vote["annotator"] for vote in votes]
    assert (made.images, made.labels, made.votes) == (len(images), len(labels), len(votes))
    objects = rows(out, "objects")
    assert made.objects == len(objects)
    assert bool(objects) == (kind in ("boxes", "parts", "hierarchy"))
    names = {"README.md", "croissant.json", "data", "datacite.json", "datasheet.md"}
    assert {path.name for path in out.iterdir()} == names
    everything = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    for name in ("alice", "bob", "boxer-", alice.pseudonym, bob.pseudonym, "known beforehand"):
        assert name.encode() not in everything


def test_a_row_of_each_table(alice, bob, dataset, tmp_path):
    row = releases.yes_or_no(alice, bob, dataset)
    Image.objects.filter(name="0.png").update(licence="CC BY 4.0", source="https://pond.org")
    row = freezing.freeze(row.campaign, alice)

    made = published(row, tmp_path / "out", started="2026-01-02")

    image, *_ = rows(tmp_path / "out", "images")
    content = image.pop("image")
    assert Pillow.open(io.BytesIO(content["bytes"])).size == (64, 48)
    assert content["path"] == "0.png"
    assert image == {
        "name": "0.png",
        "width": 64,
        "height": 48,
        "sha256": Image.objects.get(name="0.png").sha256,
        "licence": "CC BY 4.0",
        "source": "https://pond.org",
        "yes": [DOG],
        "no": [CAT],
        "unknown": [],
        "objects": {"bbox": [], "category": [], "area": []},
    }
    assert rows(tmp_path / "out", "labels")[0] == {
        "image": "0.png",
        "class": DOG,
        "class_name": "dog",
        "value": "yes",
        "origin": "explicit",
        "probability": None,
        "error": None,
        "votes": None,
    }
    vote = rows(tmp_path / "out", "votes")[0]
    assert (vote["image"], vote["topic"], vote["value"]) == ("0.png", DOG, "yes")
    assert vote["annotator"].startswith("annotator-")
    assert made.unknown_licence == 2


def test_boxes_are_as_in_coco_and_parts_have_the_area_of_their_polygons(
    alice, bob, dataset, tmp_path
):
    published(releases.boxes(alice, bob, dataset), tmp_path / "boxes")
    meadow = factories.make_dataset(alice, "meadow")
    published(releases.parts(alice, bob, meadow), tmp_path / "parts")

    [image] = rows(tmp_path / "boxes", "images")
    assert image["objects"] == {
        "bbox": [[2.0, 2.0, 20.0, 20.0], [30.0, 10.0, 20.0, 30.0]],
        "category": [DOG, DOG],
        "area": [400.0, 600.0],
    }
    assert [row["flags"] for row in rows(tmp_path / "boxes", "objects")] == ["", "occluded"]
    parts = {
        (row["object"], row["part"]): row
        for row in rows(tmp_path / "parts", "objects")
        if row["image"] == "cats/0.png"
    }
    head = parts["cat-1", "head"]
    assert (head["x"], head["y"], head["width"], head["height"]) == (10, 8, 12, 12)
    assert head["area"] == 144
    assert parts["cat-1", "tail"]["state"] == "not_visible"
    assert parts["cat-1", "tail"]["area"] is None
    assert parts["cat-1", ""]["area"] == 48 * 36


def test_an_object_that_was_imported_without_a_box_has_none(alice, bob, dataset, tmp_path):
    row = releases.parts(alice, bob, dataset)
    whole = Item.objects.filter(image__name="cats/1.png", name="cat-1")
    whole.update(region=[0, 0, 64, 48], is_boxed=False)
    row = freezing.freeze(row.campaign, alice)

    published(row, tmp_path / "out")

    [image] = [r for r in rows(tmp_path / "out", "images") if r["name"] == "cats/1.png"]
    assert image["objects"] == {"bbox": [], "category": [], "area": []}
    cat, head, *_ = [r for r in rows(tmp_path / "out", "objects") if r["image"] == "cats/1.png"]
    assert [cat["part"], cat["width"], cat["area"]] == ["", None, None]
    assert head["area"] is not None


def test_documents_state_facts_and_what_is_unknown(alice, bob, dataset, tmp_path):
    row = releases.yes_or_no(alice, bob, dataset)

    published(row, tmp_path / "out", started="2026-01-02")

    card = (tmp_path / "out" / "README.md").read_text()
    head = yaml.safe_load(card.split("---\n")[1])
    assert head["license"] == "unknown"
    assert head["task_categories"] == ["image-classification"]
    assert [config["config_name"] for config in head["configs"]] == ["images", "labels", "votes"]
    content = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert content["rai:annotationsPerItem"] == "1.33 votes per image on average."
    assert content["rai:annotatorDemographics"].startswith("1 annotator.")
    assert "Label error: unknown" in content["rai:dataLimitations"]
    assert content["rai:dataCollectionTimeframe"][0] == "2026-01-02"
    assert content["license"] == ["unknown"]
    cite = json.loads((tmp_path / "out" / "datacite.json").read_text())
    assert cite["creators"] == [{"name": ":unav"}]
    assert cite["publicationYear"] == str(row.created_at.year)
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "votes: 1" in sheet
    assert row.sha256 in sheet


def test_a_measured_error_is_stated_with_its_interval_and_basis(alice, bob, dataset, tmp_path):
    release = freezing.read(releases.yes_or_no(alice, bob, dataset))
    stated = {"value": 0.02, "interval": [0.01, 0.05], "basis": "gold"}
    release.meta["stated_error"] = stated

    folder.publish(release, tmp_path / "out")

    content = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert content["rai:dataAnnotationAnalysis"].startswith(
        "Label error: 0.0200, 90 % interval 0.0100 to 0.0500, measured on gold questions."
    )


def test_one_licence_is_named_as_on_hugging_face_and_several_are_other(
    alice, bob, dataset, tmp_path
):
    row = releases.yes_or_no(alice, bob, dataset)
    heads = []
    for number, licences in enumerate((["CC BY 4.0"] * 3, ["CC BY 4.0", "CC BY 4.0", ""])):
        for name, licence in zip(("0.png", "1.png", "2.png"), licences, strict=True):
            Image.objects.filter(name=name).update(licence=licence)
        row = freezing.freeze(row.campaign, alice)
        published(row, tmp_path / f"{number}")
        card = (tmp_path / f"{number}" / "README.md").read_text()
        heads.append(yaml.safe_load(card.split("---\n")[1])["license"])

    assert heads == ["cc-by-4.0", "other"]


def test_a_folder_with_files_and_a_missing_photograph_are_refused(alice, bob, dataset, tmp_path):
    row = releases.yes_or_no(alice, bob, dataset)
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("mine")

    with pytest.raises(BadInput, match="already exists"):
        published(row, full)
    with pytest.raises(BadInput, match="the photographs are missing"):
        folder.publish(freezing.read(row), tmp_path / "out", with_images=True)

    def missing(name):
        raise FileNotFoundError(name)

    with pytest.raises(BadInput, match=r"the photograph '0.png' is missing"):
        folder.publish(freezing.read(row), tmp_path / "out", missing, with_images=True)
    assert (full / "notes.txt").read_text() == "mine"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".", "out"))]


def test_images_of_a_sealed_part_are_left_out(alice, bob, dataset, tmp_path, run_jobs):
    row = releases.yes_or_no(alice, bob, dataset)
    split = making.request(row, alice, by="34/66", names=["train", "hidden"], seal=True)
    run_jobs()
    split.refresh_from_db()
    hidden = export_files.publishing_options(row)["sealed"]

    with export_files.fetch(row, exporting.PUBLISHED) as file:
        zipfile.ZipFile(file).extractall(tmp_path)

    out = tmp_path / "labels-1"
    names = {r["name"] for r in rows(out, "images")}
    assert hidden
    assert names == {"0.png", "1.png", "2.png"} - hidden
    for name in ("labels", "votes"):
        assert {r["image"] for r in rows(out, name)} <= names
    assert "in sealed parts of splits" in (out / "README.md").read_text()


def test_the_command_prints_counts_and_warns_of_unknown_licences(
    alice, bob, dataset, tmp_path, shell
):
    row = releases.yes_or_no(alice, bob, dataset)
    command = ("publish", "labels", "--out", tmp_path / "out", "--with-images", "--json")

    status, out, err = shell(*command)

    assert status == 0
    assert err == "3 images have no stated licence; state one, or ask before you publish\n"
    assert json.loads(out) == {
        "out": str(tmp_path / "out"),
        "images": 3,
        "labels": 4,
        "objects": 0,
        "votes": 4,
        "annotators": 1,
        "unknown_licence": 3,
        "sealed": 0,
        "sha256": row.sha256,
    }
    assert shell.refusal(*command[:-1])["error"] == "already exists"


def test_a_release_folder_is_published_without_its_site(alice, bob, dataset, tmp_path, shell):
    row = releases.yes_or_no(alice, bob, dataset)

    status, out, _ = shell("publish", freezing.folder_of(row), "--out", tmp_path / "out", "--json")

    assert (status, json.loads(out)["votes"]) == (0, 4)
    assert "image" not in rows(tmp_path / "out", "images")[0]


def test_many_photographs_are_published_by_a_job(alice, bob, dataset, run_jobs, monkeypatch):
    row = releases.yes_or_no(alice, bob, dataset)
    options = exporting.FormatOptions(with_images=True)
    with export_files.fetch(row, exporting.PUBLISHED, options) as file:
        small = file.read()
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 100)

    job = export_files.fetch(row, exporting.PUBLISHED, options)
    assert isinstance(job, Job)
    run_jobs()

    with export_files.fetch(row, exporting.PUBLISHED, options) as file:
        assert file.read() == small
