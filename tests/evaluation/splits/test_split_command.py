"""`manage.py split`, and scores of one part of a split."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.splits import files
from labeling.csv_rows import nfc
from labeling.models import Image
from labeling.near_duplicates.fingerprints import VIEWS, to_bytes
from labeling.releases import freezing
from tests import factories
from tests.evaluation.box_world import COOT, DOG, DRAKE, FOUND_HEAD, TRUTH_HEAD, write
from tests.evaluation.cds import predicted
from tests.evaluation.commands import refused, result_of, run
from tests.evaluation.wsol_folders import Folder
from tests.labeling import boxers

IMAGES = [f"{number:02}.jpg" for number in range(20)]
CLASSES = [(DRAKE, COOT, DOG)[number % 3] for number in range(20)]


@pytest.fixture
def list_file(tmp_path) -> Path:
    """20 images, of which each two are of one source."""
    rows = [
        [name, wnid, f"s{n // 2}"]
        for n, (name, wnid) in enumerate(zip(IMAGES, CLASSES, strict=True))
    ]
    return write(tmp_path / "list.csv", ["image", "wnid", "source"], rows)


def names_of(folder: Path, part: str) -> list[str]:
    return (folder / f"{part}.txt").read_text().splitlines()


def test_a_list_becomes_a_list_for_each_part_and_a_description(list_file, tmp_path):
    out = tmp_path / "split"

    result = result_of("split", list_file, "--by", "40/60", "--names", "dev,test", "--out", out)

    assert json.loads((out / "split.json").read_text()) == result
    parts = {part: names_of(out, part) for part in ("dev", "test")}
    assert sorted(parts["dev"] + parts["test"]) == IMAGES
    assert {part: counts["images"] for part, counts in result["counts"].items()} == {
        part: len(names) for part, names in parts.items()
    }
    for pair in zip(IMAGES[::2], IMAGES[1::2], strict=True):
        assert len(set(pair) & set(parts["dev"])) in {0, 2}
    assert (result["seed"], result["method"], result["together"]) == (0, "40/60", 10)
    again = tmp_path / "again"
    assert result_of(
        "split", list_file, "--by", "40/60", "--names", "dev,test", "--out", again
    ) == (result)


def test_the_sealed_part_is_the_last_one(list_file, tmp_path):
    result = result_of("split", list_file, "--by", "10/90", "--seal", "--out", tmp_path / "split")

    assert result["sealed"] == "test"


def test_a_list_without_sources_says_that_near_duplicates_are_unknown(tmp_path):
    rows = write(tmp_path / "list.csv", ["image", "wnid"], [["a", "x"], ["b", "x"]])

    status, _, err = run("split", rows, "--by", "50/50", "--out", tmp_path / "split")

    assert status == 0
    assert "near-duplicates are unknown" in err


def test_a_source_of_most_images_keeps_nothing_together(tmp_path):
    rows = [[f"{number}", "x", "the web"] for number in range(10)]
    list_file = write(tmp_path / "list.csv", ["image", "wnid", "source"], rows)

    status, out, err = run("split", list_file, "--by", "50/50", "--out", tmp_path / "s", "--json")

    assert status == 0
    assert "source the web holds 10 of 10 images" in err
    assert {part["images"] for part in json.loads(out)["counts"].values()} == {5}


def test_an_extended_split_keeps_every_image_and_names_its_parent(list_file, tmp_path):
    arguments = ("--by", "40/60", "--names", "dev,test")
    result_of("split", list_file, *arguments, "--out", tmp_path / "first")
    with open(list_file, "a") as file:
        file.writelines(f"new{number}.jpg,{DOG},s{number}\n" for number in range(9, 14))
    parent = tmp_path / "first" / "split.json"

    result = result_of(
        "split", list_file, "--by", "40/60", "--extend", parent, "--out", tmp_path / "b"
    )

    for part in ("dev", "test"):
        assert set(names_of(tmp_path / "first", part)) <= set(names_of(tmp_path / "b", part))
    # Of the source of an earlier image.
    home = next(p for p in ("dev", "test") if "18.jpg" in names_of(tmp_path / "first", p))
    assert "new9.jpg" in names_of(tmp_path / "b", home)
    assert len(result["extends"]) == 64


@pytest.mark.parametrize(
    ("by", "message"),
    [("50/50", "was made by 40/60 with seed 0"), ("class:40/60", "was made by 40/60 with seed 0")],
)
def test_another_rule_does_not_extend_a_split(list_file, tmp_path, by, message):
    result_of("split", list_file, "--by", "40/60", "--out", tmp_path / "first")
    parent = tmp_path / "first" / "split.json"

    refusal = refused("split", list_file, "--by", by, "--extend", parent, "--out", tmp_path / "b")

    assert refusal["error"] == message
    assert refusal["file"] == str(parent)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "val.txt").write_text("x\n"), "was changed after the split"),
        (lambda folder: (folder / "val.txt").unlink(), "the list of this part is missing"),
        (lambda folder: (folder / "split.json").write_text("[]"), "was not written by split"),
        (lambda folder: (folder / "split.json").unlink(), "there is no split here"),
    ],
)
def test_a_damaged_split_is_refused(list_file, tmp_path, damage, message):
    folder = tmp_path / "first"
    result_of("split", list_file, "--by", "40/60", "--out", folder)
    damage(folder)

    extended = ("--by", "40/60", "--extend", folder / "split.json", "--out", tmp_path / "b")
    refusal = refused("split", list_file, *extended)

    assert message in refusal["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"method": 1},
        {"method": None},
        {"class_parts": {DOG: "elsewhere"}},
        {"lists": {"../val": "0" * 64}},
    ],
)
def test_a_strange_split_json_is_refused(list_file, tmp_path, change):
    folder = tmp_path / "first"
    run("split", list_file, "--by", "class:40/60", "--out", folder)
    head = json.loads((folder / "split.json").read_text())
    (folder / "split.json").write_text(json.dumps(head | change))

    extended = ("--by", "class:40/60", "--extend", folder / "split.json", "--out", tmp_path / "b")
    refusal = refused("split", list_file, *extended)

    assert refusal["error"] == "was not written by split"


@pytest.mark.parametrize("sign", ["\x0b", "\x85", "\u2028", "\ufeff"])
def test_a_name_with_a_strange_sign_stays_one_image(tmp_path, sign):
    names = [f"{sign}a{sign}b", "c"]
    rows = write(tmp_path / "list.csv", ["image", "group"], [[name, "one"] for name in names])
    first, second = tmp_path / "first", tmp_path / "second"
    result = result_of("split", rows, "--by", "50/50", "--out", first)

    extended = ("--by", "50/50", "--extend", first / "split.json", "--out", second)

    assert result_of("split", rows, *extended)["lists"] == result["lists"]
    parts = [files.read_part(f"{first}:{part}") for part in ("val", "test")]
    assert frozenset.union(*parts) == set(names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "40"), "is not a rule"),
        (("--by", "1/2", "--names", "a"), "needs 2 different names"),
    ],
)
def test_a_wrong_option_is_wrong_usage(list_file, tmp_path, arguments, message):
    status, _, err = run("split", list_file, *arguments, "--out", tmp_path / "split")

    assert status == 2
    assert message in err


def test_a_folder_with_a_split_is_not_written_over(list_file, tmp_path):
    result_of("split", list_file, "--by", "40/60", "--out", tmp_path / "split")

    refusal = refused("split", list_file, "--by", "50/50", "--out", tmp_path / "split")

    assert refusal["error"] == "there is a split here"
    assert names_of(tmp_path / "split", "val")


def test_near_duplicates_of_a_release_stay_together(shell, alice, dataset, tmp_path):
    random = np.random.default_rng(0)
    wholes = random.integers(0, 2**63, 10, dtype=np.uint64)
    names = [f"{number:02}.png" for number in range(20)]
    for number, name in enumerate(names):
        # Two images differ in one bit of all views.
        views = np.full(VIEWS, wholes[number // 2] ^ np.uint64(number % 2), np.uint64)
        image = factories.make_image(dataset, name)
        Image.objects.filter(pk=image.pk).update(fingerprint=to_bytes(views))
    labels = {(name, DOG): "yes" if at % 4 < 2 else "no" for at, name in enumerate(names)}
    release = freezing.freeze(boxers.labeled(alice, dataset, "contains", labels))

    arguments = ("split", freezing.folder_of(release), "--by", "50/50", "--out", tmp_path / "s")
    result = shell.result(*arguments)

    assert (result["together"], result["notes"]) == (10, [])
    packed = shutil.make_archive(str(tmp_path / "release"), "zip", freezing.folder_of(release))
    assert shell.result("split", packed, "--by", "50/50", "--out", tmp_path / "again") == result
    assert result["counts"]["val"]["images"] == 10
    val = set(names_of(tmp_path / "s", "val"))
    assert all(
        (first in val) == (second in val)
        for first, second in zip(names[::2], names[1::2], strict=True)
    )


@pytest.fixture
def split(list_file, tmp_path) -> Path:
    result_of("split", list_file, "--by", "40/60", "--out", tmp_path / "split")
    return tmp_path / "split"


def scored(*arguments: object) -> dict:
    result = result_of("score", *arguments)
    result.pop("notes", None)
    return result


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize("verb", ["classification", "localization", "detection"])
def test_a_part_is_scored_as_its_images_alone_are(split, tmp_path, verb):
    random = np.random.default_rng(1)

    def files(folder: str, names: list[str], also: list[str]) -> tuple[object, ...]:
        """A truth and predictions of these images; `also` are predicted only."""
        (tmp_path / folder).mkdir()
        chosen = [n for n, name in enumerate(IMAGES) if name in names]
        predicted_too = [n for n, name in enumerate(IMAGES) if name in {*names, *also}]
        truth = [[IMAGES[n], CLASSES[n], 0, 0, 50, 50] for n in chosen]
        predictions = [[IMAGES[n], labels[n], scores[n], 0, 0, 50, 40 + n] for n in predicted_too]
        heads = TRUTH_HEAD, FOUND_HEAD
        if verb == "classification":
            truth = [row[:2] for row in truth]
            predictions = [[row[0], 1, row[1]] for row in predictions]
            heads = TRUTH_HEAD[:2], ["image", "rank", "wnid"]
        return (
            *(verb, "--truth", write(tmp_path / folder / "truth.csv", heads[0], truth)),
            *("--predictions", write(tmp_path / folder / "found.csv", heads[1], predictions)),
        )

    labels = random.permutation(CLASSES).tolist()
    scores = random.random(20).round(3).tolist()
    more = ("--most-rounds", 20_000) if verb == "detection" else ()
    whole = files("whole", IMAGES, [])
    for part in ("val", "test"):
        alone = files(part, names_of(split, part), [])

        assert scored(*whole, "--part", f"{split}:{part}", *more) == scored(*alone, *more)


def test_a_part_of_score_maps_is_scored_alone(tmp_path):
    folder = Folder(tmp_path)
    list_file = write(
        tmp_path / "list.csv", ["image", "wnid"], [[name, "x"] for name in folder.names]
    )
    run("split", list_file, "--by", "1/2", "--out", tmp_path / "split")

    results = [
        scored("wsol", *folder.named, "--part", f"{tmp_path / 'split'}:{part}")
        for part in ("val", "test")
    ]

    assert [result["images"] for result in results] == [1, 2]


@pytest.mark.usefixtures("wordnet")
def test_a_part_of_sequences_is_scored_alone(tmp_path):
    # Decomposed, as a Mac writes names; the list of a part has é.
    lines = [
        replace(line, image=line.image.replace(".jpg", "e\u0301.jpg"))
        for line in predicted.lines(objects=4)
    ]
    images = sorted({line.image for line in lines})
    list_file = write(tmp_path / "list.csv", ["image", "wnid"], [[name, "x"] for name in images])
    run("split", list_file, "--by", "1/1", "--out", tmp_path / "split")
    part = names_of(tmp_path / "split", "val")
    kept = [line for line in lines if nfc(line.image) in part]
    folders = tuple(image.removesuffix("\u00e9.jpg") for image in part)
    whole = predicted.write_predictions(tmp_path / "whole.csv", lines)
    head, *rows = whole.read_text().splitlines(keepends=True)
    alone = tmp_path / "alone.csv"
    alone.write_text(head + "".join(row for row in rows if row.startswith(folders)))

    def result_for(predictions, rows, *more):
        sequences = predicted.write_sequences(tmp_path / "sequences.jsonl", rows)
        files = ("--sequences", sequences, "--predictions", predictions)
        return scored("cds", *files, "--bootstrap", 20, *more)

    of_part = result_for(whole, lines, "--part", f"{tmp_path / 'split'}:val")
    assert len(kept) < len(lines)
    assert of_part == result_for(alone, kept)


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("nowhere:val", "there is no split here"),
        ("{split}:dev", "has no part 'dev'"),
        ("{split}", "is not DIR:PART"),
        ("{other}:val", "no image of the part is in it"),
    ],
)
def test_a_part_that_is_not_there_is_refused(split, tmp_path, part, message):
    elsewhere = write(
        tmp_path / "other.csv", ["image", "wnid", "group"], [["x", "", 1], ["y", "", 2]]
    )
    result_of("split", elsewhere, "--by", "1/1", "--out", tmp_path / "other")
    truth = write(tmp_path / "truth.csv", ["image", "wnid"], [["00.jpg", DRAKE]])
    predictions = write(tmp_path / "found.csv", ["image", "rank", "wnid"], [["00.jpg", 1, DRAKE]])
    text = part.format(split=split, other=tmp_path / "other")

    files = ("--truth", truth, "--predictions", predictions)
    refusal = refused("score", "classification", *files, "--part", text)

    assert message in refusal["error"]
