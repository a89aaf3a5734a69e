"""`labels export` of objects with parts, and back into another dataset; the same by API."""

import io
import json
import zipfile

import numpy as np
import pytest
from django.core.management import call_command

from labeling.datasets import objects, vocabulary_store
from labeling.files import BadInput
from labeling.geometry.regions import mask_of
from labeling.models import Dataset, Release
from labeling.parts import background
from labeling.parts.model import PartedObject
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.cases import for_each
from tests.labeling import part_releases as cats
from tests.labeling.parted import VOCABULARY

SIZE = (64, 48)


pytestmark = pytest.mark.usefixtures("afresh")


@pytest.fixture(scope="module")
def built(once) -> int:
    with once():
        return cats.release(*factories.cast()).pk


@pytest.fixture
def release(built, afresh) -> Release:
    return Release.objects.get(pk=built)


@pytest.fixture
def elsewhere(alice) -> Dataset:
    """Another dataset with images of the same names, and the same vocabulary."""
    goal = factories.make_dataset(alice, "elsewhere")
    for number in range(3):
        factories.make_image(goal, f"cats/{number}.png")
    vocabulary_store.add_version(goal, VOCABULARY, alice)
    return goal


def run(capsys, *words) -> dict:
    call_command("labels", *map(str, words), "--json")
    return json.loads(capsys.readouterr().out)


def there(dataset: Dataset) -> dict[tuple[str, str], PartedObject]:
    described = objects.describe(objects.in_dataset(dataset)).values()
    return {(thing.image, thing.name): thing for thing in described}


def frozen_objects(release: Release) -> list[PartedObject]:
    read = freezing.read(release)
    return [background.without_rest(thing) for _, parted in read.objects() for thing in parted]


WITH_OPTIONS = [
    ("coco", "--rest"),
    ("coco", "--names", "plain"),
    ("label-studio", "--image-base", "https://host/images"),
]


@pytest.mark.parametrize("how", [*((name,) for name in exporting.OBJECT_FORMATS), *WITH_OPTIONS])
def test_an_export_comes_back_with_the_same_geometry(how, release, elsewhere, tmp_path, capsys):
    folder, name = tmp_path / "out", how[0]
    written = run(capsys, "export", "cats", "--format", *how, "--out", folder)
    run(capsys, "import", "elsewhere", folder, "--parts")

    back = there(elsewhere)
    assert written["objects"] == len(back) == 3
    for before in frozen_objects(release):
        after = back[before.image, before.name]
        assert (after.category, after.box, after.crop) == (before.category, before.box, before.crop)
        parts = {part.key: part for part in after.parts}
        for part in before.parts:
            assert parts[part.key].state == part.state
            ours, theirs = (
                mask_of(piece.polygons, (0, 0, *SIZE)) for piece in (part, parts[part.key])
            )
            assert np.array_equal(ours, theirs)
            if name not in ("pascal-part", "png"):
                assert parts[part.key].polygons == part.polygons


def test_objects_are_counted_by_origin_and_state(release, tmp_path, capsys):
    call_command("labels", "export", "cats", "--format", "coco", "--out", str(tmp_path / "out"))

    output = capsys.readouterr().out
    assert ["objects", "3"] in [line.split() for line in output.splitlines()]
    counts = ("drawn", "5"), ("not visible", "2"), ("occluded", "1")
    for state, count in counts:
        assert f"parts explicit {state} {count}" in " ".join(output.split())


def test_pictures_take_photographs_from_a_folder_for_a_releases_folder(
    release, dataset, tmp_path, capsys
):
    for image in dataset.images.all():
        path = tmp_path / "images" / image.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with image.file.open("rb") as file:
            path.write_bytes(file.read())
    words = ("export", freezing.folder_of(release), "--format", "pictures")
    with pytest.raises(BadInput, match="--images DIR"):
        run(capsys, *words, "--out", tmp_path / "out")

    run(capsys, *words, "--out", tmp_path / "out", "--images", tmp_path / "images")

    assert (tmp_path / "out" / "pictures" / "cats" / "0.png" / "cow-1.png").is_file()


def test_a_photograph_that_is_none_is_named(release, tmp_path, capsys):
    path = tmp_path / "images" / "cats" / "0.png"
    path.parent.mkdir(parents=True)
    path.write_text("nothing")
    folder = freezing.folder_of(release)

    with pytest.raises(BadInput, match=r"cats/0\.png: cannot be drawn on: It is not a JPEG"):
        run(
            capsys, "export", folder, "--format", "pictures", "--out", tmp_path / "out",
            "--images", tmp_path / "images",
        )  # fmt: skip


@for_each("name", ["coco", "png", "pictures", "csv"])
def test_programs_fetch_the_same_formats(name, release, alice, client):
    client.force_login(alice)

    response = client.get("/api/v1/campaigns/cats/releases/1/labels/", {"format": name})

    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
        assert "cats-1/objects.jsonl" in archive.namelist()


def test_programs_fetch_the_objects_themselves(release, alice, client):
    client.force_login(alice)

    response = client.get("/api/v1/campaigns/cats/releases/1/files/objects.jsonl/")

    assert response.getvalue() == (freezing.folder_of(release) / "objects.jsonl").read_bytes()


def test_programs_choose_names_rest_and_the_images_address(release, alice, client):
    client.force_login(alice)
    url = "/api/v1/campaigns/cats/releases/1/labels/"

    def content(file, **query):
        response = client.get(url, query)
        with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
            return json.loads(archive.read(f"cats-1/{file}"))

    plain = content("parts.json", format="coco", names="plain", rest="true")["categories"]
    tasks = content("tasks.json", format="label-studio", image_base="s3://bucket/")
    refused = client.get(url, {"format": "csv", "rest": "true"})

    names = [row["name"] for row in plain]
    assert names.count("head") == 2
    assert "unlabeled-rest-background" in names
    assert tasks[0]["data"]["image"] == "s3://bucket/cats/0.png"
    assert refused.status_code == 400
    assert "Rest is not an option of csv for this campaign." in refused.content.decode()


def test_the_page_of_options_leads_to_what_was_chosen(release, alice, client):
    client.force_login(alice)
    url = "/campaigns/cats/releases/1/labels"

    page = client.get(f"{url}/options/").content.decode()
    bad = client.get(url, {"format": "label-studio", "image_base": "here"})
    made = client.get(url, {"format": "coco", "names": "plain", "rest": "on"})

    assert f'href="{url}/options/"' in client.get("/campaigns/cats/releases/").content.decode()
    for name in ("names", "rest", "image_base"):
        assert page.count(f'name="{name}"') == 1
    assert bad.status_code == 400
    assert (
        "This is not an address; use an address such as https://host/images/"
        in bad.content.decode()
    )
    with zipfile.ZipFile(io.BytesIO(b"".join(made))) as archive:
        how = json.loads(archive.read("cats-1/release.json"))["export"]
    assert (how["names"], how["rest"]) == ("plain", True)


def test_a_format_that_only_other_releases_have_is_said(release, alice, coots, client):
    freezing.freeze(coots)
    client.force_login(alice)

    response = client.get("/api/v1/campaigns/coots/releases/1/labels/", {"format": "png"})

    assert response.status_code == 400
    assert "This release has no format 'png'" in response.content.decode()
