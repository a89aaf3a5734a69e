"""From lines and predictions to every score and table."""

import dataclasses
import functools
import random

import numpy as np
import pytest

from evaluation.metrics.wordnet.similarity import CONVENTIONS, similarity_matrix
from evaluation.readers.frame_predictions import (
    NOT_ASKED,
    FramePredictions,
    frame_places,
    read_predictions,
)
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds.result import CdsScoringOptions, ClassifierScores, FrameAnswer
from evaluation.scoring.cds.scoring import CdsScores, score
from labeling.files import BadInput
from tests.evaluation.cds import predicted

QUICK = CdsScoringOptions(bootstrap=20)


@pytest.fixture
def lines() -> list[SequenceLine]:
    return predicted.lines(objects=3)


@pytest.fixture
def predictions(tmp_path, lines) -> FramePredictions:
    return read_predictions(predicted.write_predictions(tmp_path / "p.csv", lines), lines)


@pytest.fixture
def scored(lines, predictions, wordnet) -> CdsScores:
    return score(lines, predictions, wordnet, QUICK, predicted.MAPPING)


def says(line: SequenceLine, *wnids: str, classifier: str = "net") -> FramePredictions:
    """One classifier's answers to the frames of one line; "" for none."""
    classes = tuple(dict.fromkeys(wnid for wnid in wnids if wnid))
    places = [classes.index(wnid) if wnid else -1 for wnid in wnids]
    answers = {classifier: np.array(places, np.int32)}
    return FramePredictions((classifier,), answers, classes, frame_places([line]))


def one_line(category: str = predicted.DOG, frames: int = 4) -> SequenceLine:
    return SequenceLine("a.jpg", category, "E_U", "low", tuple(f"f{i}" for i in range(frames)))


def test_scores_by_a_plain_loop_over_the_formula(lines, predictions, scored, wordnet):
    rows = {(r.image, r.part_scheme, r.content_scheme, r.classifier): r for r in scored.sequences()}

    assert len(rows) == len(lines) * 2
    similarity = functools.cache(
        lambda a, b: similarity_matrix(wordnet, [wordnet.index(a)], [wordnet.index(b)])[0, 0]
    )
    for line in lines:
        for classifier in predictions.classifiers:
            top, right, bottom = 0.0, 0.0, 0.0
            count = len(line.frames)
            for j, frame in enumerate(line.frames, start=1):
                weight = (count - j + 1) / count
                class_number = predictions.wnids[classifier][predictions.frames[frame]]
                if class_number >= 0:
                    wnid = predictions.classes[class_number]
                    top += weight * similarity(line.category, wnid)
                    right += weight * (wnid in predicted.MAPPING[line.category])
                bottom += weight
            row = rows[line.image, line.part_scheme, line.content_scheme, classifier]
            assert row.cds == pytest.approx(1 - top / bottom)
            assert row.b_cds == pytest.approx(1 - right / bottom)
            assert (row.category, row.object) == (line.category, "")


NOTE = (
    f"fewer than 5 objects of {', '.join(sorted(predicted.MAPPING))}: intervals draw objects "
    "within their category, and so few hardly differ from draw to draw"
)


def test_every_table_is_there_and_the_head_names_every_choice(scored):
    head = scored.result.to_json()

    tables = head.pop("tables")
    assert all(tables.values())
    assert set(tables) == {
        *("averaging", "error", "by_content_scheme", "by_part_scheme", "best_and_worst"),
        *("error_correlation", "cl_ratio", "hardness", "part_presence", "captchas"),
    }
    assert head.pop("sure").keys() == {"level", "bands", "apart", "words"}
    assert head == {
        "classifiers": ["one", "two"],
        "similarity": "wup",
        "convention": "clean",
        "by": "wnid",
        "bootstrap": {"rounds": 20, "seed": 0, "level": 0.95},
        "mapping": predicted.MAPPING,
        "images": 9,
        "objects": 9,
        "sequences": 72,
        "few_objects": sorted(predicted.MAPPING),
        "category_names": {predicted.DOG: "dog", predicted.CAT: "cat", predicted.BUS: "bus"},
        "notes": [NOTE],
    }
    assert {row.averaging for row in scored.result.tables.by_part_scheme} == {"text", "script"}


def test_without_a_mapping_there_is_cds_and_a_note(lines, predictions, wordnet):
    outcome = score(lines, predictions, wordnet, QUICK)

    assert {list(row.to_json())[-1] for row in outcome.sequences()} == {"cds"}
    empty = {name for name, rows in outcome.result.tables.to_json().items() if not rows}
    assert empty == {"error", "error_correlation", "cl_ratio"}
    assert {row.measure for row in outcome.result.tables.best_and_worst} == {"cds"}
    assert any("without a mapping" in note for note in outcome.result.notes)


def test_all_right_is_0_and_all_wrong_is_1(wordnet):
    line, mapping = one_line(), {predicted.DOG: [predicted.DOG]}

    right = score([line], says(line, *[predicted.DOG] * 4), wordnet, QUICK, mapping)
    wrong = score([line], says(line, "", "", "", ""), wordnet, QUICK, mapping)

    assert right.scores(0) == {"net": ClassifierScores(cds=0, b_cds=0)}
    assert wrong.scores(0) == {"net": ClassifierScores(cds=1, b_cds=1)}


def test_nothing_named_is_wrong_and_like_no_class(wordnet):
    line = one_line()

    outcome = score(
        [line], says(line, "", "", "", predicted.DOG), wordnet, QUICK, predicted.MAPPING
    )
    (row,) = outcome.answers()

    assert outcome.scores(0) == {"net": ClassifierScores(cds=0.9, b_cds=0.9)}
    first, *_ = row.answers["net"]
    assert first == FrameAnswer(wnid=None, name=None, similarity=0.0, right=False)


def test_answers_stand_under_their_frames_with_names_and_scores(wordnet):
    line = one_line()
    spoken = says(line, predicted.CAT, predicted.WOLF, predicted.DOG, predicted.DOG)

    outcome = score([line], spoken, wordnet, QUICK, predicted.MAPPING)
    (row,) = outcome.answers()

    answers = row.answers["net"]
    assert [answer.name for answer in answers] == ["cat", "wolf", "dog", "dog"]
    assert [answer.right for answer in answers] == [False, False, True, True]
    assert answers[0].similarity == pytest.approx(0.857142857142857)
    assert answers[0].wnid == predicted.CAT
    assert row.scores == outcome.scores(0)
    assert row.frames == list(line.frames)


def test_a_frame_that_comes_again_counts_at_each_place(wordnet):
    line = dataclasses.replace(one_line(), frames=("a", "a", "b"))

    outcome = score([line], says(line, predicted.DOG, ""), wordnet, QUICK, predicted.MAPPING)

    assert outcome.scores(0)["net"].b_cds == pytest.approx(1 - 5 / 6)


def test_the_order_of_lines_and_the_names_of_frames_change_nothing(lines, predictions, wordnet):
    shuffled = random.Random(0).sample(lines, len(lines))

    ordered = score(lines, predictions, wordnet, QUICK, predicted.MAPPING)
    reordered = score(shuffled, predictions, wordnet, QUICK, predicted.MAPPING)

    assert ordered.result == reordered.result


def test_rounds_are_seeded_and_leave_the_points_as_they_are(lines, predictions, wordnet):
    def tables(**changes):
        options = dataclasses.replace(QUICK, **changes)
        return score(lines, predictions, wordnet, options, predicted.MAPPING).result.tables

    first = tables()

    assert tables() == first
    assert tables(seed=1) != first
    for without, row in zip(
        tables(bootstrap=0).by_content_scheme, first.by_content_scheme, strict=True
    ):
        assert without.value == row.value
        assert (without.low, without.high) == (None, None)


def test_by_word_the_category_is_a_word_and_a_class_its_first_lemma(wordnet):
    line = one_line("dog")
    hammerhead = "n01494475"
    spoken = says(line, hammerhead, predicted.DOG, predicted.DOG, predicted.DOG)
    options = dataclasses.replace(QUICK, by="word")

    outcome = score([line], spoken, wordnet, options, {"dog": [predicted.DOG, hammerhead]})
    (row,) = outcome.answers()

    # hammerhead.n.01 is the dolt; the mapping speaks of the class itself.
    dolt = similarity_matrix(
        wordnet, [wordnet.find(predicted.DOG)], [wordnet.find("hammerhead.n.01")]
    )
    assert row.answers["net"][0].similarity == dolt[0, 0]
    assert row.answers["net"][0].right is True


@pytest.mark.parametrize("name", [predicted.DOG, "dog.n.01", "domestic dog"])
def test_a_category_is_found_in_the_mapping_by_what_it_means(wordnet, name):
    line = one_line(name)
    mapping = {"nonsense": [predicted.CAT], "dog.n.01": [predicted.DOG]}

    outcome = score([line], says(line, *[predicted.DOG] * 4), wordnet, QUICK, mapping)

    assert outcome.scores(0)["net"].b_cds == 0


@pytest.mark.parametrize(("objects", "is_sure"), [(5, False), (6, True)])
def test_the_sign_test_over_objects_says_what_of_the_order_is_sure(wordnet, objects, is_sure):
    lines = [
        SequenceLine(f"{i}.jpg", predicted.DOG, "E_U", "low", (f"{i}",)) for i in range(objects)
    ]
    classes = (predicted.DOG, predicted.CAT)
    answers = {
        name: np.full(objects, class_number, np.int32)
        for class_number, name in enumerate(("dog", "cat"))
    }
    spoken = FramePredictions(("cat", "dog"), answers, classes, frame_places(lines))

    sure = score(lines, spoken, wordnet, QUICK).result.sure

    # 2 · 0.5⁶ = 0.03, and of five objects it is 0.06.
    assert sure.bands == ([["dog"], ["cat"]] if is_sure else [["dog", "cat"]])
    assert ("No order is confirmed" in sure.words) is not is_sure


def test_measures_and_conventions_change_the_score(lines, predictions, wordnet):
    def first(**changes):
        options = dataclasses.replace(QUICK, bootstrap=0, **changes)
        outcome = score(lines, predictions, wordnet, options)
        assert outcome.result.similarity == options.measure
        assert all(0 <= row.cds <= 1 for row in outcome.sequences())
        return next(outcome.sequences()).cds, outcome.result.notes

    scores_found = {first()[0], first(measure="path")[0], first(convention="wnsim")[0]}

    assert len(scores_found) == 3
    assert any("co-occurrence" in note for note in first(measure="vector")[1])


def test_people_saw_few_frames_and_stand_beside_the_machines(lines, predictions, wordnet):
    frames = frame_places(lines)
    seen = np.full(len(frames), NOT_ASKED, np.int32)
    asked_lines = [n for n in lines if (n.part_scheme, n.content_scheme) == ("E_U", "low")]
    seen[[frames[frame] for line in asked_lines for frame in line.frames]] = 0
    people = FramePredictions(("people",), {"people": seen}, (predicted.DOG,), frames)

    outcome = score(lines, predictions.joined(people), wordnet, QUICK, predicted.MAPPING)

    people_rows = [row for row in outcome.sequences() if row.classifier == "people"]
    assert len(people_rows) == len(asked_lines)
    (row,) = [
        row
        for row in outcome.result.tables.by_content_scheme
        if (row.classifier, row.measure, row.averaging) == ("people", "cds", "text")
    ]
    assert (row.content_scheme, row.best) == ("low", False)
    assert {row.of for row in outcome.result.tables.hardness} == {"one", "two", *predicted.CONTENTS}
    alone = score(lines, predictions, wordnet, QUICK, predicted.MAPPING)
    assert outcome.result.tables.error_correlation == alone.result.tables.error_correlation
    assert outcome.result.tables.best_and_worst == alone.result.tables.best_and_worst
    assert outcome.result.notes[0].startswith("people saw 9 of 72 sequences")
    assert [set(row.answers) for row in outcome.answers()].count({"one", "two", "people"}) == 9


def test_people_alone_are_scored_on_what_they_saw(lines, wordnet):
    frames = frame_places(lines)
    seen = np.full(len(frames), NOT_ASKED, np.int32)
    asked_lines = [n for n in lines if n.category == predicted.DOG and n.content_scheme == "low"]
    seen[[frames[frame] for line in asked_lines for frame in line.frames]] = 0
    people = FramePredictions(("people",), {"people": seen}, (predicted.DOG,), frames)

    outcome = score(lines, people, wordnet, QUICK, predicted.MAPPING)

    assert len(list(outcome.sequences())) == len(asked_lines)
    assert {row.category for row in outcome.result.tables.best_and_worst} == {predicted.DOG}
    assert {row.category for row in outcome.result.tables.hardness} == {predicted.DOG}
    assert {row.content_scheme for row in outcome.result.tables.by_content_scheme} == {"low"}
    assert outcome.result.tables.error_correlation == outcome.result.tables.captchas == []


def test_people_who_were_asked_nothing_have_no_scores(lines, wordnet):
    frames = frame_places(lines)
    seen = np.full(len(frames), NOT_ASKED, np.int32)
    people = FramePredictions(("people",), {"people": seen}, (), frames)

    outcome = score(lines, people, wordnet, QUICK, predicted.MAPPING)

    assert list(outcome.sequences()) == []
    assert {row.error for row in outcome.result.tables.error} == {None}


def test_people_who_saw_everything_are_no_machine_where_they_are_named(lines, predictions, wordnet):
    options = dataclasses.replace(QUICK, people=("two",))

    outcome = score(lines, predictions, wordnet, options, predicted.MAPPING)

    assert {row.lowest for row in outcome.result.tables.best_and_worst} == {"one"}


def test_sequences_that_are_not_there_are_told(lines, predictions, wordnet):
    outcome = score(lines[1:], predictions, wordnet, QUICK, predicted.MAPPING)

    assert outcome.result.notes[0].startswith("71 of 72 sequences are there")


def test_only_the_hardest_candidates_are_listed_and_that_is_told(tmp_path, wordnet):
    lines = predicted.lines(objects=2)
    path = predicted.write_predictions(tmp_path / "p.csv", lines, ("net",))
    predictions = read_predictions(path, lines)
    every = score(lines, predictions, wordnet, QUICK, predicted.MAPPING).result.tables.captchas
    options = dataclasses.replace(QUICK, captchas=3)

    outcome = score(lines, predictions, wordnet, options, predicted.MAPPING)

    assert len(every) > 3
    assert outcome.result.tables.captchas == every[:3]
    assert f"of {len(every)} sequences the 3 hardest" in outcome.result.notes[-1]


def test_a_mapping_without_any_predicted_class_is_noted(wordnet):
    line = one_line()

    outcome = score(
        [line], says(line, *[predicted.CAT] * 4), wordnet, QUICK, {predicted.DOG: [predicted.DOG]}
    )

    assert outcome.scores(0)["net"].b_cds == 1
    assert outcome.result.notes[0].startswith("no predicted class is in the mapping")


STRANGER = "n99999999"


@pytest.mark.parametrize(
    ("changes", "wnid", "options", "mapping", "message", "cure"),
    [
        ({"category": "blorb"}, predicted.DOG, {}, None, "'blorb' is not a noun synset", "a wnid"),
        ({"category": "dog"}, predicted.DOG, {}, None, predicted.DOG, "--by word"),
        (
            {},
            predicted.DOG,
            {},
            {predicted.CAT: [predicted.CAT]},
            f"the category {predicted.DOG!r}",
            f"add rows {predicted.DOG}",
        ),
        ({"frames": ("f0", "elsewhere")}, predicted.DOG, {}, None, "'elsewhere'", "made for these"),
        *[
            ({}, predicted.DOG, {"measure": name}, None, repr(name), "take one of wup, path, lin")
            for name in ("res", "size")
        ],
        ({}, predicted.DOG, {"convention": "other"}, None, "'other'", "take one of clean"),
        ({}, predicted.DOG, {"by": "lemma"}, None, "'lemma'", "take one of wnid"),
        ({}, STRANGER, {}, None, f"'{STRANGER}' is not a noun", "leave it empty"),
    ],
)
def test_what_cannot_be_scored_is_refused_where_it_stands(
    wordnet, changes, wnid, options, mapping, message, cure
):
    whole = dataclasses.replace(one_line(), line=7)
    line = dataclasses.replace(whole, **changes)
    spoken = dataclasses.replace(says(whole, *[wnid] * 4), places=(("p.csv", 3),))

    with pytest.raises(BadInput) as error:
        score([line], spoken, wordnet, dataclasses.replace(QUICK, **options), mapping)

    refusal = error.value
    expected_place = None if options else ("p.csv", 3) if wnid == STRANGER else (None, 7)
    assert expected_place in (None, (refusal.file, refusal.line))
    assert message in refusal.message
    assert cure in str(refusal.cure)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_instances_are_scored_as_the_command_compares_them_and_named(wordnet, convention):
    line = one_line("dog")
    chihuahua, city = "n02085620", wordnet.find("chihuahua.n.01")
    options = dataclasses.replace(QUICK, by="word", convention=convention)

    outcome = score([line], says(line, *[chihuahua] * 4), wordnet, options)

    (row,) = outcome.answers()
    expected = similarity_matrix(wordnet, [wordnet.find("dog.n.01")], [city], "wup", convention)
    assert row.answers["net"][0].similarity == expected[0, 0] > 0.3
    assert outcome.result.instances == [wordnet.wnid(city)]
    (note,) = [note for note in outcome.result.notes if "instances" in note]
    assert "n02085620 (Chihuahua) as chihuahua.n.01" in note


def test_a_category_may_be_an_instance_and_a_result_without_any_names_none(wordnet):
    line = one_line("Paris")
    options = dataclasses.replace(QUICK, by="word")

    outcome = score([line], says(line, *[predicted.DOG] * 4), wordnet, options)

    assert outcome.result.instances == [wordnet.wnid(wordnet.find("paris.n.01"))]
    dog_line = one_line(predicted.DOG)
    outcome = score([dog_line], says(dog_line, *[predicted.DOG] * 4), wordnet, QUICK)
    assert outcome.result.instances is None


def test_no_sequences_are_refused(wordnet):
    line = one_line()

    with pytest.raises(BadInput, match="no sequences"):
        score([], says(line, *[predicted.DOG] * 4), wordnet)


def test_a_part_scheme_that_comes_again_under_another_name_changes_no_average(
    lines, predictions, wordnet
):
    again = [
        dataclasses.replace(
            line,
            part_scheme=f"{line.part_scheme} again",
            frames=tuple(f"{frame} again" for frame in line.frames),
        )
        for line in lines
    ]
    frames = frame_places([*lines, *again])
    both = {
        name: np.concatenate([numbers, numbers]).astype(np.int32)
        for name, numbers in predictions.wnids.items()
    }
    twice = FramePredictions(predictions.classifiers, both, predictions.classes, frames)

    single = score(lines, predictions, wordnet, QUICK, predicted.MAPPING)
    two = score([*lines, *again], twice, wordnet, QUICK, predicted.MAPPING)

    for name in ("by_content_scheme", "error_correlation", "error"):
        both = (getattr(outcome.result.tables, name) for outcome in (single, two))
        for row, changed_row in zip(*both, strict=True):
            for key, value in row.to_json().items():
                same = value if isinstance(value, str | None) else pytest.approx(value)
                assert getattr(changed_row, key) == same
