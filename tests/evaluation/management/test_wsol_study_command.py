"""`manage.py wsol-study run`."""

import contextlib

import pytest
from PIL import Image

from evaluation.classifiers import resuming
from evaluation.management import wsol_study
from evaluation.scoring.wsol.splits import FULL, TEST, WEAK
from evaluation.wsol_study.results import StudyFolder
from evaluation.wsol_study.running import made_data
from labeling.files import BadInput
from tests.evaluation.benchmarks.kinds.labeled import world

CONFIG = """
images: images
metadata: metadata
methods: [cam]
backbones: [small]
trials: 2
epochs: 1
threads: 1
"""
WRITTEN = ("trials.jsonl", "finals.jsonl", "choice.json", "center.json", "test_passes.jsonl")


@pytest.fixture
def config(tmp_path):
    made_data.write(tmp_path, {WEAK: 2, FULL: 1, TEST: 1})
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def test_the_result_has_the_chosen_models_and_the_baseline(shell, config, tmp_path):
    result = shell.result("wsol-study", "run", config, "--out", tmp_path / "out")

    [final] = result["finals"]
    assert (result["trials"], result["test_passes"], result["device"]) == (2, 1, "cpu")
    assert result["not_converged"].keys() == {"cam-small"}
    assert (final["method"], final["chosen"]) == ("cam", True)
    assert result["center"] == StudyFolder(tmp_path / "out").center().to_json()
    assert 0 <= result["center"]["test"] <= 1
    status, out, _ = shell("wsol-study", "run", config, "--out", tmp_path / "out")
    assert status == 0
    assert "passes over test: 1" in out


def test_a_changed_study_is_warned_of_its_second_pass(shell, config, tmp_path):
    shell.result("wsol-study", "run", config, "--out", tmp_path / "out")
    config.write_text(CONFIG.replace("trials: 2", "trials: 3"))

    status, _, err = shell("wsol-study", "run", config, "--out", tmp_path / "out", "--json")

    assert status == 0
    assert "this is pass 2 over test" in err


@pytest.mark.ci
def test_two_processes_write_the_same_bytes(shell, config, tmp_path):
    alone, engine = tmp_path / "alone", tmp_path / "engine"

    shell.result("wsol-study", "run", config, "--out", alone)
    shell.result("wsol-study", "run", config, "--out", engine, "--on", "local:2")

    for name in WRITTEN:
        assert (alone / name).read_bytes() == (engine / name).read_bytes(), name
    for folder in ("curves", "by_threshold", "samples", "work"):
        made = {p.relative_to(alone) for p in (alone / folder).rglob("*") if p.is_file()}
        assert made
        for name in made:
            assert (alone / name).read_bytes() == (engine / name).read_bytes(), name


def test_a_missing_or_doubled_configuration_is_wrong_usage(shell, config, tmp_path):
    neither = shell("wsol-study", "run", "--out", tmp_path / "out")
    both = shell("wsol-study", "run", config, "--preset", "small", "--out", tmp_path / "out")

    assert (neither[0], both[0]) == (2, 2)
    assert "one of them" in neither[2]


def test_a_missing_image_of_test_is_refused_before_training(shell, config, tmp_path):
    (tmp_path / "images" / TEST / "0003.png").unlink()

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == "the image is missing"
    assert not (tmp_path / "out" / "trials.jsonl").exists()


def test_an_image_in_two_parts_is_refused_before_training(shell, config, tmp_path):
    for file in ("image_ids.txt", "class_labels.txt"):
        path = tmp_path / "metadata" / WEAK / file
        path.write_text(path.read_text().replace(f"{WEAK}/0000.png", f"{TEST}/0000.png"))

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == f"{TEST}/0000.png is in {WEAK}, too"
    assert not (tmp_path / "out" / "study.json").exists()


def test_a_class_of_test_that_is_not_trained_is_refused_before_training(shell, config, tmp_path):
    path = tmp_path / "metadata" / TEST / "class_labels.txt"
    path.write_text(path.read_text().replace("class7", "bird"))

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert f"of the class bird, which {WEAK} lacks" in refusal["error"]
    assert not (tmp_path / "out" / "study.json").exists()


def test_an_image_of_another_size_is_refused(shell, config, tmp_path):
    Image.new("RGB", (80, 30)).save(tmp_path / "images" / FULL / "0000.png")

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == "is 80 × 30, expected 56 × 56"


def test_more_shots_than_images_are_refused(shell, config, tmp_path):
    config.write_text(CONFIG.replace("[cam]", "[cam, fsl]") + "few_shot: [1, 2]\n")

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == "few_shot is 2, but a class has at most 1 images"


def test_shots_that_some_classes_lack_are_warned_of(shell, config, tmp_path):
    made_data.write(tmp_path, {FULL: 2})
    for path in (tmp_path / "metadata" / FULL).iterdir():
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    config.write_text(CONFIG.replace("[cam]", "[cam, fsl]") + "few_shot: [2]\n")

    status, _, err = shell("wsol-study", "run", config, "--out", tmp_path / "out", "--json")

    assert status == 0
    assert "few_shot 2: 3 of 8 classes have fewer images in train-fullsup" in err


def test_fsl_needs_two_images(shell, config, tmp_path):
    config.write_text(CONFIG.replace("[cam]", "[fsl]"))
    for path in (tmp_path / "metadata" / FULL).iterdir():
        path.write_text(path.read_text().splitlines()[0] + "\n")

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == "fsl needs two images"


def test_a_wrong_configuration_leaves_no_folder(shell, config, tmp_path):
    config.write_text(CONFIG + "seed: many\n")

    shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_two_runs_at_once_are_refused(shell, config, tmp_path):
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / wsol_study.LOCK).open("a+b") as file:
        resuming.lock(file, tmp_path / "out")

        refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert refusal["error"] == "another run is at it"


def test_an_unknown_benchmark_is_refused_before_training(db, shell, config, tmp_path):
    config.write_text(CONFIG + "submit_to: nowhere\n")

    refusal = shell.refusal("wsol-study", "run", config, "--out", tmp_path / "out")

    assert "no benchmark of score maps 'nowhere'" in refusal["error"]


def test_an_empty_part_of_a_split_is_refused_with_the_split(tmp_path, monkeypatch):
    release = wsol_study.release_predictions
    monkeypatch.setattr(release, "opened", lambda path: contextlib.nullcontext(object()))
    monkeypatch.setattr(wsol_study, "read_part", lambda text: frozenset())
    config = wsol_study.StudyConfig(
        images=tmp_path, methods=["cam"], backbones=["small"], release=tmp_path, split=tmp_path
    )

    with pytest.raises(BadInput, match="train-weaksup is empty") as refusal:
        wsol_study._data(None, config, tmp_path / "out")

    assert refusal.value.file == str(tmp_path)
    assert "split the release again" in refusal.value.cure


def test_the_parts_of_a_split_of_a_release_become_folders(tmp_path, monkeypatch):
    names = [f"{number}.png" for number in range(6)]
    release = tmp_path / "release"
    release.mkdir()
    frozen = world.frozen_of(release, {name: {"n1": [(1, 2, 30, 40)]} for name in names})
    monkeypatch.setattr(
        wsol_study.release_predictions, "opened", lambda path: contextlib.nullcontext(frozen)
    )
    lists = {WEAK: names[:3], FULL: names[3:4], TEST: names[4:]}
    monkeypatch.setattr(
        wsol_study, "read_part", lambda text: frozenset(lists[text.rpartition(":")[2]])
    )
    config = wsol_study.StudyConfig(
        images=tmp_path, methods=["cam"], backbones=["small"], release=release, split=tmp_path
    )

    class Command:
        def warn(self, text):
            raise AssertionError(text)

    kept = tmp_path / "out" / "metadata" / WEAK / "image_ids.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("the user's\n")

    data = wsol_study._data(Command(), config, tmp_path / "out")

    assert kept.read_text() == "the user's\n"
    assert data.classes == ["n1"]
    assert {part: data.part(part).names for part in lists} == lists
    assert data.part(TEST).truth[0].boxes.tolist() == [[1, 2, 30, 40]]
    assert not (tmp_path / "out" / wsol_study.PARTS / WEAK / "localization.txt").exists()
