"""From a release to a benchmark, and classifiers that come, change and go."""

import stat
import zipfile

import numpy as np
import pytest

from evaluation.benchmarks import folders
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.labeled import benchmarks, paths, scoremap_zips
from evaluation.models import Benchmark
from labeling.disk_full import StorageFull
from labeling.errors import Conflict, NotYours, Refusal, TooLarge
from labeling.files import BadInput
from labeling.releases import freezing
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG
from tests.labeling import part_releases

FILES = {
    "classification": {"truth.csv"},
    "localization": {"truth.csv", "images.csv"},
    "detection": {"truth.csv", "images.csv", "excluded.csv"},
    "wsol": {
        "image_ids.txt",
        "class_labels.txt",
        "image_sizes.txt",
        "localization.txt",
        "masks",
        "cues.csv",
    },
}
NEEDS_WORDNET = [kind for kind in FILES if kind != "wsol"]


@pytest.fixture
def maps(alice, cats):
    return world.make(alice, cats, "wsol")


def lying():
    """What lies in the benchmarks' folder, hidden or not."""
    root = folders.root()
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def sent(benchmark):
    folder = folders.folder_of(benchmark) / "submissions"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("kind", FILES)
def test_a_benchmark_has_the_files_that_score_reads(wordnet, alice, cats, kind):
    made = world.make(alice, cats, kind)

    assert {path.name for path in paths.truth_folder(made).iterdir()} == FILES[kind]
    assert made.release == cats.releases.get()
    assert made.settings["split"] == "train-fullsup"
    assert made.settings["truth"]["images"] == (3 if kind == "detection" else 1)
    assert lying() == [str(made.pk)]


def test_the_truth_can_be_taken_away(maps):
    with kind_of(maps).open_file(maps, "truth.zip") as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        ids = archive.read("wsol/image_ids.txt")

    assert "wsol/masks/png/000000.png" in names
    assert ids == b"cats/1.png\n"


def test_the_latest_kept_release_is_the_truth(alice, cats):
    freezing.freeze(cats, alice, interim=True)
    kept = freezing.freeze(cats, alice)

    assert world.make(alice, cats).release == kept


def test_a_plan_counts_and_makes_nothing(alice, cats):
    assert benchmarks.plan(cats, "wsol") is None
    assert not cats.releases.exists()
    release = freezing.freeze(cats, alice)

    plan = benchmarks.plan(cats, "wsol")

    assert plan is not None
    assert (plan.release, plan.kind) == (release.number, "wsol")
    assert plan.truth.to_json() == world.make(alice, cats).settings["truth"]


def test_what_cannot_be_is_refused_beside_its_field(alice, cats):
    for fields, field, message in [
        ({"kind": "mad"}, "kind", "'mad' is not one of classification"),
        ({"kind": "wsol", "seed": 1}, "seed", "has no 'seed'"),
        ({"split": "val"}, "split", "'val' is not one of train-fullsup, test"),
        ({"protocol": "ours"}, "protocol", "'ours' is not one of paper"),
        ({"normalize": "softmax"}, "normalize", "not one of min-max"),
        ({"size": 0}, "size", "from 1 to 4096"),
        ({"thresholds": 65_001}, "thresholds", "from 1 to 65000"),
        ({"thresholds": True}, "thresholds", "whole number"),
        ({"kind": "detection", "inclusive": 1}, "inclusive", "true or false"),
        ({"kind": "detection", "confidence": 1.0}, "confidence", "between 0 and 1"),
        ({"kind": "detection", "seed": -1}, "seed", "from 0 to"),
        ({"title": " "}, "title", "title"),
        ({"name": "New"}, "name", "cannot be a name"),
    ]:
        with pytest.raises(Refusal) as refusal:
            world.make(alice, cats, **fields)

        assert refusal.value.field == field, fields
        assert message in str(refusal.value), fields
        assert not Benchmark.objects.exists(), fields
        assert not cats.releases.exists(), fields


def test_nothing_settled_is_refused_and_not_frozen(alice, dataset):
    campaign = part_releases.campaign_of(alice, dataset)

    with pytest.raises(Refusal, match="Nothing in Cats is settled yet"):
        world.make(alice, campaign)

    assert not campaign.releases.exists()


def test_classes_outside_wordnet_are_refused(wordnet, alice, cats, monkeypatch):
    monkeypatch.setattr("evaluation.benchmarks.kinds.labeled.scoring.TRUTH", "other.csv")
    write = benchmarks.ground_truth.write

    def write_others(*args):
        counts = write(*args)
        (args[2] / "other.csv").write_text("image,wnid\ncats/1.png,my cat\n")
        return counts

    monkeypatch.setattr(benchmarks.ground_truth, "write", write_others)

    with pytest.raises(Refusal, match="'my cat' is not a noun of WordNet"):
        world.make(alice, cats, "classification")

    assert lying() == []


def test_a_taken_name_is_refused_and_the_same_again_is_the_same(alice, cats, maps):
    assert world.make(alice, cats, "wsol") == maps
    with pytest.raises(Conflict, match="already called 'wsol'"):
        world.make(alice, cats, "wsol", protocol="reference")

    assert lying() == [str(maps.pk)]


def test_the_same_again_is_the_same_after_a_classifier_left(alice, cats, maps, tmp_path):
    world.submit(maps, alice, tmp_path)
    kind_of(maps).remove(maps, 0)

    assert world.make(alice, cats, "wsol") == maps


@pytest.mark.parametrize(
    "step", ["os.replace", "ground_truth.write", "zip_folder", "scoring.check_truth"]
)
def test_a_death_at_any_step_leaves_no_half_benchmark(alice, cats, monkeypatch, step):
    def die(*_args, **_fields):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(f"evaluation.benchmarks.kinds.labeled.benchmarks.{step}", die)
        with pytest.raises(StorageFull, match="The disk is full"):
            world.make(alice, cats)

    assert not Benchmark.objects.exists()
    assert lying() == []
    assert world.make(alice, cats).pk


def test_a_damaged_release_is_refused(alice, cats):
    release = freezing.freeze(cats, alice)
    with open(freezing.folder_of(release) / "objects.jsonl", "a") as file:
        file.write("{}\n")

    with pytest.raises(BadInput, match=r"objects\.jsonl: differs from"):
        world.make(alice, cats)

    assert lying() == []


@pytest.mark.parametrize("kind", NEEDS_WORDNET)
def test_predictions_come_once_and_change_once(wordnet, alice, cats, tmp_path, kind):
    benchmark = world.make(alice, cats, kind)
    first = world.submit(benchmark, alice, tmp_path)
    again = world.submit(benchmark, alice, tmp_path)
    files = sent(benchmark)

    assert (again.pk, again.sha256, again.attempts) == (first.pk, first.sha256, 1)
    assert files == [paths.submission_path(first).name]

    changed = world.submit(benchmark, alice, tmp_path, content=world.usual(benchmark)[:1])

    assert (changed.pk, changed.attempts, changed.position) == (first.pk, 2, 0)
    assert changed.sha256 != first.sha256


def test_an_old_file_goes_when_the_new_one_is_committed(
    alice, maps, tmp_path, django_capture_on_commit_callbacks
):
    world.submit(maps, alice, tmp_path)
    flat = world.maps_of(maps, lambda _: np.zeros((4, 4), np.float32))

    with django_capture_on_commit_callbacks(execute=True):
        row = world.submit(maps, alice, tmp_path, content=flat)

    assert sent(maps) == [paths.submission_path(row).name]
    assert row.attempts == 2


def test_attempts_outlive_a_removal(alice, maps, tmp_path, django_capture_on_commit_callbacks):
    world.submit(maps, alice, tmp_path)
    with django_capture_on_commit_callbacks(execute=True):
        assert kind_of(maps).remove(maps, 0) == "alpha"

    assert sent(maps) == []
    assert world.submit(maps, alice, tmp_path).attempts == 2
    with pytest.raises(NotYours):
        kind_of(maps).remove(maps, 7)


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("classification", ("cats/9.png", 1, DOG), "lacks the image 'cats/9.png'"),
        ("classification", ("cats/1.png", 0, DOG), "the rank is '0'"),
        ("localization", ("cats/9.png", CAT, 0.5, 0, 0, 9, 9), "unknown image"),
        ("localization", ("cats/1.png", CAT, 0.5, 9, 9, 0, 0), "is inverted"),
        ("detection", ("cats/1.png", CAT, "nan", 0, 0, 9, 9), "not finite"),
        ("detection", ("cats/1.png", "blorp", 0.5, 0, 0, 9, 9), "blorp"),
    ],
)
def test_predictions_that_do_not_fit_are_refused_with_their_line(
    wordnet, alice, cats, tmp_path, kind, row, message
):
    benchmark = world.make(alice, cats, kind)

    with pytest.raises(BadInput, match=message) as bad:
        world.submit(benchmark, alice, tmp_path, content=[*world.usual(benchmark)[:1], row])

    assert (bad.value.file, bad.value.line) == ("alpha.sent", 3)
    # Where files lie on the server is nobody's business.
    assert str(tmp_path) not in str(bad.value)
    assert not benchmark.submissions.exists()
    assert sent(benchmark) == []
    assert lying() == [str(benchmark.pk)]


ONE = "cats/1.png.npy"
SHAPE = "{{'descr': '<f4', 'fortran_order': False, 'shape': {}}}\n"


def headed(head: str) -> bytes:
    """An array whose head says this, and that ends with it."""
    text = head.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_score_maps_that_do_not_fit_are_refused_by_name(alice, maps, tmp_path):
    for files, message in [
        ({}, "score map of cats/1.png is missing"),
        ({ONE: world.npy(world.ramp()), "cats/9.png.npy": b"x"}, "belongs to no id"),
        ({ONE: b"\x93NUMPY"}, "is not a NumPy array"),
        ({ONE: world.npy(np.array([None, {}], object))}, "is not a 2-D array of floats"),
        ({ONE: headed("{'shape': (((")}, "is not a NumPy array"),
        ({ONE: headed("-" * 3900 + "1")}, "is not a NumPy array"),
        ({ONE: headed("{[]: 2}")}, "is not a NumPy array"),
        ({ONE: headed(SHAPE.format("(3, 3)").replace("'<f4'", "['i,']"))}, "is not a NumPy array"),
        ({ONE: headed(SHAPE.format("(-1, -1)"))}, "is not a NumPy array"),
        ({ONE: headed(SHAPE.format("(True, True)"))}, "is not a NumPy array"),
        ({ONE: headed(SHAPE.format("(10**9, 9)"))}, "is not a NumPy array"),
        ({ONE: headed(SHAPE.format("(99999, 999)"))}, "ends too early"),
        ({ONE: headed(SHAPE.format("(99999, 9999)"))}, "has 999,890,001 pixels"),
        ({ONE: world.npy(np.zeros(9))}, "is not a 2-D array of floats"),
        ({ONE: world.npy(np.zeros((3, 3), complex))}, "is not a 2-D array of floats"),
        ({ONE: world.npy(np.full((3, 3), np.nan))}, "is nan in row 0, column 0"),
        ({f"/{ONE}": world.npy(world.ramp())}, "absolute path"),
        ({f"../{ONE}": world.npy(world.ramp())}, "leaves the folder"),
        ({"cats/1.png.zip": b"PK"}, "archive inside the archive"),
    ]:
        with pytest.raises((BadInput, Refusal), match=message):
            world.submit(maps, alice, tmp_path, content=world.packed(files))

        assert not maps.submissions.exists(), files
        assert sent(maps) == [], files
        assert lying() == [str(maps.pk)], files


def test_a_map_that_is_wrong_is_named_in_its_zip(alice, maps, tmp_path):
    bad = world.packed({ONE: world.npy(np.zeros(9))})

    with pytest.raises(BadInput) as refusal:
        world.submit(maps, alice, tmp_path, content=bad)

    assert refusal.value.file == f"alpha.sent: {ONE}"


def test_links_bombs_and_what_is_no_zip_are_refused(alice, maps, tmp_path):
    path = tmp_path / "links.zip"
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo(ONE)
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(Refusal, match=r"cats/1\.png\.npy: It is a link"):
        benchmarks.add_submission(maps, alice, "alpha", path, "links.zip")

    with pytest.raises(Refusal, match="zip bomb"):
        world.submit(maps, alice, tmp_path, content=world.packed({ONE: bytes(110 << 20)}))

    with pytest.raises(Refusal, match="It is not a zip"):
        world.submit(maps, alice, tmp_path, content=b"image,wnid\n")

    assert lying() == [str(maps.pk)]


def test_what_unpacks_to_too_much_is_refused(alice, maps, tmp_path, monkeypatch):
    monkeypatch.setattr(scoremap_zips, "MAX_UNPACKED_BYTES", 1024)

    with pytest.raises(TooLarge, match="Pack the score maps of the benchmark's images alone"):
        world.submit(maps, alice, tmp_path)


def test_too_large_a_file_is_refused(alice, maps, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "MAX_ZIP_BYTES", 10)

    with pytest.raises(TooLarge):
        world.submit(maps, alice, tmp_path)


def test_maps_under_one_folder_and_beside_other_files_are_taken(alice, maps, tmp_path):
    zipped = world.packed({f"cams/{ONE}": world.npy(world.ramp()), "cams/README.txt": b"mine"})

    row = world.submit(maps, alice, tmp_path, content=zipped)

    assert (paths.submission_path(row) / ONE).is_file()


def test_a_folder_of_maps_is_taken_as_it_is(alice, maps, tmp_path):
    (tmp_path / "cams" / "cats").mkdir(parents=True)
    np.save(tmp_path / "cams" / ONE, world.ramp())

    first = benchmarks.add_submission(maps, alice, "alpha", tmp_path / "cams", "cams")
    again = benchmarks.add_submission(maps, alice, "alpha", tmp_path / "cams", "cams")
    zipped = world.submit(maps, alice, tmp_path)

    # A zip of the very same maps is the same.
    assert {(row.pk, row.attempts) for row in (first, again, zipped)} == {(first.pk, 1)}
    assert (paths.submission_path(first) / ONE).is_file()
    assert (tmp_path / "cams" / ONE).is_file()


def test_a_file_that_went_is_taken_again_without_counting(alice, maps, tmp_path):
    row = world.submit(maps, alice, tmp_path)
    benchmarks._remove(paths.submission_path(row))

    again = world.submit(maps, alice, tmp_path)

    assert again.attempts == 1
    assert (paths.submission_path(again) / ONE).is_file()


def test_a_name_that_cannot_be_is_refused(alice, maps, tmp_path):
    path = tmp_path / "sent.zip"
    path.write_bytes(world.usual(maps))
    for name in ["", " alpha", "a\nb", "a/b", "..", "a\\b", "x" * 101, "a\u200b"]:
        with pytest.raises(Refusal) as refusal:
            benchmarks.add_submission(maps, alice, name, path, "maps.zip")

        assert refusal.value.field == "name", name


def test_too_many_classifiers_are_refused(alice, maps, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "MAX_CLASSIFIERS", 1)
    world.submit(maps, alice, tmp_path)

    with pytest.raises(Refusal, match="takes 1 classifiers"):
        world.submit(maps, alice, tmp_path, "beta")

    assert len(sent(maps)) == 1


@pytest.mark.parametrize("step", ["os.replace", "scoring.check", "_laid_out", "_entered"])
def test_a_death_at_any_step_leaves_no_half_submission(alice, maps, tmp_path, monkeypatch, step):
    def die(*_args, **_fields):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(f"evaluation.benchmarks.kinds.labeled.benchmarks.{step}", die)
        with pytest.raises(StorageFull):
            world.submit(maps, alice, tmp_path)

    assert not maps.submissions.exists()
    assert sent(maps) == []
    assert lying() == [str(maps.pk)]
    assert world.submit(maps, alice, tmp_path).attempts == 1


def test_a_death_while_replacing_keeps_the_old_predictions(alice, maps, tmp_path, monkeypatch):
    first = world.submit(maps, alice, tmp_path)
    flat = world.maps_of(maps, lambda _: np.zeros((4, 4), np.float32))

    def die(*_args):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr("evaluation.benchmarks.kinds.labeled.benchmarks.os.replace", die)
        with pytest.raises(OSError, match="Input/output"):
            world.submit(maps, alice, tmp_path, content=flat)

    row = maps.submissions.get()
    assert (row.sha256, row.attempts) == (first.sha256, 1)
    assert (paths.submission_path(row) / ONE).is_file()


def test_two_who_make_the_same_at_once_get_one(alice, cats, monkeypatch):
    zipped = benchmarks.zip_folder

    def meanwhile(*args):
        monkeypatch.setattr(benchmarks, "zip_folder", zipped)
        world.make(alice, cats, "wsol")
        zipped(*args)

    monkeypatch.setattr(benchmarks, "zip_folder", meanwhile)

    made = world.make(alice, cats, "wsol")

    assert made == Benchmark.objects.get()
    assert lying() == [str(made.pk)]


def test_the_same_file_sent_twice_at_once_counts_once(alice, maps, tmp_path, monkeypatch):
    check = benchmarks.scoring.check

    def meanwhile(*args):
        monkeypatch.setattr(benchmarks.scoring, "check", check)
        world.submit(maps, alice, tmp_path)
        check(*args)

    monkeypatch.setattr(benchmarks.scoring, "check", meanwhile)

    row = world.submit(maps, alice, tmp_path)

    assert (row, row.attempts) == (maps.submissions.get(), 1)
    assert (paths.submission_path(row) / ONE).is_file()


@pytest.mark.parametrize("gone", ["truth", "truth/image_ids.txt", "truth/localization.txt"])
def test_a_truth_that_went_is_told(alice, maps, tmp_path, gone):
    content = world.usual(maps)
    folders.folder_of(maps).joinpath(gone).rename(tmp_path / "elsewhere")

    with pytest.raises((BadInput, Refusal), match="from a backup"):
        world.submit(maps, alice, tmp_path, content=content)

    assert not maps.submissions.exists()
