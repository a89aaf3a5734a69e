"""`labels import` of objects with their parts."""

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from labeling.datasets import objects, vocabulary_store
from labeling.files import BadInput
from labeling.geometry.regions import mask_of
from labeling.management.contract import UsageError
from labeling.models import Dataset, GivenLabel
from labeling.parts import background
from labeling.release_files import exporting
from labeling.releases import freezing
from labeling.vocabulary import reading
from tests import factories
from tests.labeling import part_files as files
from tests.labeling import part_releases as cats
from tests.labeling import pascal_mats
from tests.labeling.part_files import COW, coco, cow


@pytest.fixture
def cows(tmp_path):
    path = tmp_path / "cows.json"
    path.write_text(coco(cow(), cow(x=100)))
    return path


def run(capsys, *words):
    call_command("labels", "import", "meadow", *map(str, words), "--json")
    return json.loads(capsys.readouterr().out)


def test_coco_comes_in_with_its_parts_when_told_so(meadow, cows, capsys):
    result = run(capsys, cows, "--parts")

    assert (result["objects"], result["new"], result["merged"]) == (2, 2, 2)
    assert {label.source for label in GivenLabel.objects.all()} == {"cows.json"}
    assert run(capsys, cows, "--parts")["changed"] == 0


def test_mat_files_are_parts_without_being_told(alice, capsys, tmp_path):
    dataset = files.meadow(alice)
    files.image(dataset, "2010_000001.jpg", (120, 90))
    path = pascal_mats.a_scene(tmp_path, "2010_000001")

    assert run(capsys, path, "--source", "a")["objects"] == 3
    assert run(capsys, tmp_path, "--source", "a")["changed"] == 0
    assert run(capsys, tmp_path, "--source", "a", "--format", "pascal-part")["changed"] == 0


@pytest.mark.parametrize("format_name", ["coco", "pascal-part", "png", "label-studio"])
def test_every_format_comes_back_the_same(meadow, capsys, tmp_path, format_name):
    run(capsys, files.written("coco", tmp_path / "a", cow(category=COW, name="b")), "--parts")
    (first,) = objects.describe(objects.in_dataset(meadow)).values()
    folder = files.written(format_name, tmp_path / "b", first)
    GivenLabel.objects.all().delete()

    run(capsys, folder, "--parts", "--format", format_name)

    (back,) = objects.describe(objects.in_dataset(meadow)).values()
    assert (back.name, back.box, back.category) == (first.name, first.box, first.category)
    assert [part.merges for part in back.parts] == [part.merges for part in first.parts]
    whole = (0, 0, *files.SIZE)
    for mine, theirs in zip(back.parts, first.parts, strict=True):
        assert np.array_equal(mask_of(mine.polygons, whole), mask_of(theirs.polygons, whole))
        if format_name in ("coco", "label-studio"):
            assert mine.polygons == theirs.polygons


def test_the_vocabulary_may_come_with_it(alice, cows, capsys, tmp_path):
    dataset = files.meadow(alice, vocabulary=False)
    with pytest.raises(BadInput, match=r"has no vocabulary.*or give --vocabulary"):
        run(capsys, cows, "--parts")

    assert run(capsys, cows, "--parts", "--vocabulary", "shipped")["objects"] == 2

    path = tmp_path / "own.yaml"
    path.write_text(reading.shipped().as_yaml().replace("name: cow", "name: cattle"))
    result = run(capsys, cows, "--parts", "--vocabulary", path)
    assert result["vocabulary"] == 2
    assert result["unknown"] == [{"category": "cow", "part": "", "count": 2}]
    assert vocabulary_store.current(dataset).version == 2


def test_what_is_refused_ends_with_one_and_the_others_come_in(meadow, shell, tmp_path):
    path = tmp_path / "cows.json"
    path.write_text(coco(cow(), cow(image="no.jpg")))

    status, out, err = shell("labels", "import", "meadow", path, "--parts", "--json")

    assert status == 1
    warning, line = err.splitlines()
    assert warning.startswith("refused: Annotation 5: no.jpg: The image is not in meadow")
    error = json.loads(line)
    assert error["error"].startswith("1 object was refused, the first is Annotation 5: no.jpg")
    assert error["file"] == str(path)
    assert "import the file again; the others are imported" in error["cure"]
    assert (json.loads(out)["objects"], json.loads(out)["refused_count"]) == (1, 1)
    assert GivenLabel.objects.exists()


def test_names_that_mean_nothing_are_shown(meadow, capsys, tmp_path):
    path = tmp_path / "cows.json"
    path.write_text(coco(cow(category="zebra")))

    call_command("labels", "import", "meadow", str(path), "--parts")

    out = capsys.readouterr().out
    assert "unknown\n" in out
    assert "zebra" in out


def test_a_file_of_which_nothing_comes_in_is_bad_input(meadow, tmp_path):
    path = tmp_path / "cows.json"
    path.write_text(coco(cow(image="no.jpg")))

    with pytest.raises(BadInput, match=r"none of its objects was imported; .*no.jpg"):
        call_command("labels", "import", "meadow", str(path), "--parts")


def test_a_vocabulary_without_a_file_is_refused(meadow, cows):
    words = ("--parts", "--vocabulary", "/nowhere.yaml")
    with pytest.raises(BadInput, match="No such file"):
        call_command("labels", "import", "meadow", str(cows), *words)

    assert not objects.in_dataset(meadow).exists()


def test_a_campaigns_graph_says_nothing_of_parts(meadow, cows):
    with pytest.raises(UsageError):
        call_command("labels", "import", "meadow", str(cows), "--parts", "--campaign", "x")


@pytest.mark.parametrize("form", ["release", "coco"])
def test_a_release_of_ours_comes_back_with_who_said_what(
    alice, bob, dataset, capsys, tmp_path, form
):
    release = freezing.read(freezing.freeze(cats.settled(alice, bob, dataset)))
    folder = Path(release.folder)
    if form == "coco":
        folder = tmp_path / "out"
        exporting.export(release, "coco", folder)
    goal = Dataset.objects.create(name="meadow", owner=bob)
    for index in range(3):
        factories.make_image(goal, f"cats/{index}.png", index + 50)
    vocabulary_store.add_version(goal, cats.VOCABULARY, bob)

    result = run(capsys, folder)

    assert (result["objects"], result["unknown"], result["refused"]) == (3, [], [])
    back = next(iter(objects.describe(objects.in_dataset(goal)).values()))
    frozen = background.without_rest(next(release.objects())[1][0])
    order = [part.key for part in back.parts]
    assert [(part.key, part.polygons, part.state, part.merges) for part in back.parts] == [
        (part.key, part.polygons, part.state, part.merges)
        for part in sorted(frozen.parts, key=lambda part: order.index(part.key))
    ]
    sources = dict(
        GivenLabel.objects.filter(item=objects.in_dataset(goal)[0]).values_list("key", "source")
    )
    assert sources["torso"].endswith(": explicit")
    assert not sources["head"].endswith(": explicit")
    assert run(capsys, folder)["changed"] == 0
