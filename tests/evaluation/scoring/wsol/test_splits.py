"""The three splits: what may be scored on them, and how often a test split was."""

import json
import threading

import numpy as np
import pytest

from evaluation.scoring.wsol import splits
from tests.evaluation import commands
from tests.evaluation.wsol_folders import Folder


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


def scored(folder: Folder, *more: object) -> tuple[int | None, str]:
    """How often the test split was scored, and what was said to it."""
    status, out, err = commands.run("score", "wsol", *folder.named, *more, "--json")
    assert status == 0
    return json.loads(out)["test_scorings"], err


def test_a_test_split_is_counted_by_sets_of_maps_and_warns_from_the_second_on(folder, settings):
    first = np.load(folder.maps / f"{folder.names[0]}.npy")

    assert scored(folder, "--split", "test") == (1, "")
    assert scored(folder, "--split", "test", "--protocol", "reference") == (1, "")
    folder.save(folder.names[0], first * first)
    times, printed = scored(folder, "--split", "test")
    assert times == 2
    assert "2 sets of score maps" in printed
    folder.save(folder.names[0], first)
    assert scored(folder, "--split", "test")[0] == 2

    record = settings.DATA_DIR / "wsol-test-scorings.jsonl"
    assert len(record.read_text().splitlines()) == 2


def test_another_truth_has_a_count_of_its_own(folder):
    scored(folder, "--split", "test")
    folder.write("class_labels.txt", *(f"{name},cat" for name in folder.names))

    assert scored(folder, "--split", "test") == (1, "")


def test_other_splits_and_the_baseline_are_not_counted(folder, settings):
    assert scored(folder, "--split", "train-fullsup") == (None, "")
    assert scored(folder) == (None, "")
    baseline = ("--metadata", folder.metadata, "--baseline", "center-gaussian", "--split", "test")
    assert commands.result_of("score", "wsol", *baseline)["test_scorings"] is None

    assert not (settings.DATA_DIR / "wsol-test-scorings.jsonl").exists()


def test_the_folder_says_which_split_it_is(folder):
    test = folder.metadata.rename(folder.root / "test")
    arguments = ("--metadata", test, *folder.named[2:])

    result = commands.result_of("score", "wsol", *arguments)

    assert (result["split"], result["test_scorings"]) == ("test", 1)
    assert commands.result_of("score", "wsol", *arguments, "--split", "train-fullsup")["split"] == (
        "train-fullsup"
    )


def test_localization_is_not_scored_on_weak_labels(folder):
    refusal = commands.refused("score", "wsol", *folder.named, "--split", "train-weaksup")

    assert "class labels only" in refusal["error"]
    assert "train-fullsup" in refusal["cure"]


def test_what_is_refused_is_not_counted(folder, settings):
    folder.save(folder.names[2], np.full((16, 16), np.nan))

    commands.refused("score", "wsol", *folder.named, "--split", "test")

    assert not (settings.DATA_DIR / "wsol-test-scorings.jsonl").exists()


def test_a_line_that_a_crash_cut_short_is_passed_over(tmp_path):
    record = tmp_path / "record.jsonl"
    assert splits.count(record, "truth", "one") == 1
    with record.open("a") as file:
        file.write('{"truth": "truth", "ma')

    assert splits.count(record, "truth", "two") == 2
    assert splits.count(record, "truth", "three") == 3
    assert splits.count(record, "truth", "one") == 3


def test_several_at_once_lose_no_count(tmp_path):
    record = tmp_path / "deep" / "record.jsonl"
    threads = [
        threading.Thread(target=splits.count, args=(record, "truth", str(number)))
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert splits.count(record, "truth", "0") == 20
