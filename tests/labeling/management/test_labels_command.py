import json

import pytest
from django.core.management import call_command
from PIL import Image

from labeling.files import BadInput
from labeling.formats import FORMATS
from labeling.models import GivenLabel
from labeling.release_files import frozen
from labeling.releases import freezing
from tests.labeling import label_files
from tests.labeling.hierarchies import follow, make
from tests.labeling.label_files import BOX, CAT, CUP, DOG, kept

OVEN = "n03862676"


@pytest.fixture
def release(alice, dataset):
    return label_files.home_release(alice, dataset)


@pytest.fixture
def elsewhere(bob):
    return label_files.elsewhere(bob)


def run(capsys, *words):
    call_command("labels", *map(str, words), "--json")
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_comes_back_with_labels_and_provenance(
    name, release, elsewhere, tmp_path, capsys
):
    out = tmp_path / "out"

    written = run(capsys, "export", "home", "--format", name, "--out", out)
    back = run(capsys, "import", "elsewhere", out)

    assert written["images"] == 3
    assert written["labels"]["given"] == {"yes": 1}
    assert sum(sum(counts.values()) for counts in written["labels"].values()) == 3 * 6
    assert back["unknown"] == written["labels"]["explicit"]["unknown"]
    assert kept(elsewhere)[:4] == [
        ("0.png", "n00007846", "no", "home release 1: explicit"),
        ("0.png", DOG, "yes", "home release 1: explicit"),
        ("0.png", CAT, "no", "home release 1: explicit"),
        ("0.png", CUP, "no", "home release 1: inherited"),
    ]
    assert ("1.png", CUP, "yes", "a list of cups") in kept(elsewhere)
    cup = GivenLabel.objects.get(item__image__dataset=elsewhere, source="a list of cups")
    assert cup.geometry == BOX


WITH_OPTIONS = [
    ("coco", "--names", "plain"),
    ("label-studio", "--image-base", "https://host/images/"),
]


@pytest.mark.parametrize("how", [*((name,) for name in FORMATS), *WITH_OPTIONS])
def test_the_file_alone_says_the_same(how, release, elsewhere, tmp_path, capsys):
    out, name = tmp_path / "out", how[0]
    run(capsys, "export", "home", "--format", *how, "--out", out)
    files = {"csv": "labels.csv", "jsonl": "labels.jsonl", "coco": "labels.json"}
    (out / "release.json").unlink()
    path = out / {**files, "voc": "", "label-studio": "tasks.json"}[name]

    run(capsys, "import", "elsewhere", path, "--source", "by hand")

    assert {(image, key, value) for image, key, value, _ in kept(elsewhere)} == {
        ("0.png", "n00007846", "no"),
        ("0.png", DOG, "yes"),
        ("0.png", CAT, "no"),
        ("0.png", CUP, "no"),
        ("0.png", OVEN, "no"),
        ("0.png", "n03636248", "no"),
        ("1.png", CUP, "yes"),
    }
    assert ("0.png", DOG, "yes", "by hand: explicit") in kept(elsewhere)


def test_an_export_is_a_release_whose_hashes_hold(release, tmp_path, capsys):
    out = tmp_path / "out"
    result = run(capsys, "export", "home", "--out", out)

    read = frozen.read(out)

    assert read.meta["export"] == {"format": "csv", "release_sha256": release.sha256}
    assert read.meta["sha256"] == result["sha256"]
    (out / "labels.csv").write_text("image,class\n")
    with pytest.raises(BadInput, match="differs from what was frozen"):
        frozen.read(out)


def test_two_exports_of_one_release_are_the_same_bytes(release, tmp_path, capsys):
    for name in ("a", "b"):
        run(capsys, "export", "home", "--format", "voc", "--out", tmp_path / name)

    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))

    assert len(files) > 8
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()


def test_a_campaign_without_a_release_says_how_to_make_one(alice, dataset, tmp_path, capsys):
    make(alice, dataset, images=1)

    with pytest.raises(BadInput, match="campaign freeze home"):
        run(capsys, "export", "home", "--out", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_an_export_never_writes_over_a_folder(release, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(BadInput, match="already exists"):
        run(capsys, "export", "home", "--out", tmp_path)

    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".txt"] == ["mine.txt"]


def test_classes_that_a_graph_does_not_have_are_refused(release, dataset, tmp_path, capsys):
    path = tmp_path / "labels.csv"
    path.write_text(f"image,class\n0.png,{DOG}\n1.png,n99999999\n")
    before = kept(dataset)

    with pytest.raises(BadInput) as refused:
        run(capsys, "import", dataset.name, path, "--campaign", "home")

    assert "n99999999" in str(refused.value)
    assert kept(dataset) == before


def test_a_file_that_does_not_say_its_format_asks_for_it(elsewhere, tmp_path, capsys):
    path = tmp_path / "labels.txt"
    path.write_text("image,class\n")

    with pytest.raises(BadInput, match="--format"):
        run(capsys, "import", "elsewhere", path)


def test_the_table_is_for_people(release, tmp_path, capsys):
    call_command("labels", "export", "home", "--out", str(tmp_path / "out"))

    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[:3])
    assert (lines["format"], lines["images"]) == ("csv", "3")


def test_photographs_come_with_an_export_where_its_readers_look(release, tmp_path, capsys):
    for name, folder in (("csv", "images"), ("voc", "JPEGImages")):
        run(capsys, "export", "home", "--format", name, "--out", tmp_path / name, "--with-images")

        for image in release.campaign.dataset.images.all():
            with Image.open(tmp_path / name / folder / image.name) as copy:
                assert copy.size == (image.width, image.height)


def test_photographs_that_are_not_here_refuse_the_export(release, shell, tmp_path):
    folder = freezing.folder_of(release)

    for more in ((), ("--images", tmp_path)):
        fault = shell.refusal(
            "labels", "export", folder, "--out", tmp_path / "out", "--with-images", *more
        )
        assert "photograph" in fault["error"]
    assert not (tmp_path / "out").exists()


def test_coco_without_a_box_says_that_its_readers_find_nothing(alice, dataset, shell, tmp_path):
    campaign = make(alice, dataset, images=1)
    follow(campaign, animal="yes", kitchen="no", electric="no", person="no")
    freezing.freeze(campaign)

    _, _out, err = shell("labels", "export", "home", "--format", "coco", "--out", tmp_path / "o")

    assert "readers of COCO find 0 annotations" in err
    assert shell("labels", "export", "home", "--out", tmp_path / "csv")[2] == ""


def test_voc_has_a_map_of_its_labels(release, tmp_path, capsys):
    run(capsys, "export", "home", "--format", "voc", "--out", tmp_path / "voc")

    lines = (tmp_path / "voc" / "labelmap.txt").read_text().splitlines()
    assert lines[:2] == ["# label:color_rgb:parts:actions", "background:0,0,0::"]
    names = (tmp_path / "voc" / "classes.csv").read_text().splitlines()[1:]
    assert [line.partition(":")[0] for line in lines[2:]] == [n.partition(",")[0] for n in names]
