"""What a review of mistakes makes of label sets, rates and scores, worked on paper."""

import numpy as np
import pytest

from evaluation.readers.mistakes import Judgement
from evaluation.readers.valid_sets import read_label_sets
from evaluation.scoring.mistakes import applying, queueing, reviewing
from evaluation.scoring.mistakes.queueing import ReviewPool, Strata

DUCK, DOG, CUP = 0, 1, 2


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def review() -> applying.ReviewedPool:
    """Four disagreements of A, all reviewed, and two of twenty agreements.

    0: the dog is right too. 1: only the dog is. 2: the duck is right, the cup a major mistake.
    3: A says nothing, nobody can say. 4: sampled, right. 5: sampled, the duck is a minor mistake.
    """
    first = np.array([DOG, DOG, CUP, -1, *[DUCK] * 20])
    second_model = np.array([DUCK, DOG, CUP, DUCK, *[CUP] * 20])
    was_asked = np.ones(24, bool)
    pool = ReviewPool(
        [str(number) for number in range(24)],
        [frozenset((DUCK,))] * 24,
        {"A": first, "other": second_model},
        {"A": was_asked, "other": was_asked},
    )
    strata = Strata(np.arange(4), np.arange(4, 24), np.arange(4, 6))
    judged = {
        ("0", DUCK): Judgement("valid"),
        ("0", DOG): Judgement("valid", ("multiple_objects",)),
        ("1", DUCK): Judgement("major"),
        ("1", DOG): Judgement("valid", ("incorrect_annotation", "text")),
        ("2", DUCK): Judgement("valid"),
        ("2", CUP): Judgement("major", ("text",)),
        ("3", DUCK): Judgement("cannot"),
        ("4", DUCK): Judgement("valid"),
        ("5", DUCK): Judgement("minor", ("collage",)),
    }
    return applying.apply_review(pool, strata, judged)


def test_valid_classes_are_the_new_set_and_what_was_not_reviewed_stays(review):
    assert review.after[:6] == [
        frozenset((DUCK, DOG)),
        frozenset((DOG,)),
        frozenset((DUCK,)),
        frozenset(),
        frozenset((DUCK,)),
        frozenset(),
    ]
    assert review.after[6:] == review.pool.sets[6:]
    assert len(review.changed_images()) == 4
    assert review.without(review.changed_images()).after == review.pool.sets


def test_rates_weight_the_sample(review):
    """Of 24 images; each of the two sampled ones stands for ten."""
    rates = applying.rates(review, 0.95, rng())

    assert rates.label_not_valid.value == (2 + 10) / 24
    assert rates.several_valid.value == 1 / 24
    assert rates.none_valid.value == (1 + 10) / 24
    assert rates.cannot_be_labeled.value == 1 / 24
    assert {tag: share.value for tag, share in (rates.tags or {}).items()} == {
        "multiple_objects": 1 / 24,
        "incorrect_annotation": 1 / 24,
        "text": 2 / 24,
        "collage": 10 / 24,
    }
    assert rates.label_not_valid.images == 6
    low, high = rates.label_not_valid.interval
    assert low < 0.5 < high


def test_a_model_is_scored_by_both_sets_and_by_the_weighted_sample(review):
    rescored = applying.rescored(review, "A", "ab", True, 0.95, rng())

    assert (rescored.before.value, rescored.before.images) == (20 / 24, 24)
    # 0, 1 and the agreements but 5, of the images but 3 and 5.
    assert (rescored.after.value, rescored.after.images) == (21 / 22, 22)
    # 2 of 3 reviewed, and 10 of the 20, of which 10 are left out.
    assert rescored.estimated.value == pytest.approx(12 / 13)
    assert rescored.estimated.images == 6


def test_mistakes_are_shared_by_answer_and_by_tag(review):
    rescored = applying.rescored(review, "A", "ab", True, 0.95, rng()).mistakes

    assert rescored.images == 4
    assert {word: share.value for word, share in rescored.answers.items()} == {
        "valid": 0.5,
        "minor": 0,
        "major": 0.25,
        "cannot": 0,
        "no_prediction": 0.25,
    }
    assert {tag: share.value for tag, share in rescored.tags.items()} == {
        "multiple_objects": 0.25,
        "incorrect_annotation": 0.25,
        "text": 0.5,
    }


def test_a_submission_that_was_not_chosen_has_scores_and_no_mistakes(review):
    rescored = applying.rescored(review, "other", "cd", False, 0.95, rng())

    assert rescored.mistakes is None
    assert rescored.before.value == 2 / 24
    assert rescored.after.value == 2 / 22


def test_images_that_people_were_not_asked_about_count_for_neither_score(review):
    review.pool.was_asked["other"][1:] = False

    rescored = applying.rescored(review, "other", "cd", False, 0.95, rng())

    assert (rescored.before.images, rescored.after.images) == (1, 1)


def test_the_estimate_is_free_of_what_the_plain_score_misses():
    """2,000 images, a fifth of the agreements wrong: the unreviewed ones hide it from the score."""
    rng = np.random.default_rng(3)
    images = [str(number) for number in range(2000)]
    true = np.where(rng.random(2000) < 0.2, DOG, DUCK)
    first = np.where(rng.random(2000) < 0.3, CUP, DUCK)
    pool = ReviewPool(images, [frozenset((DUCK,))] * 2000, {"A": first}, {"A": np.ones(2000, bool)})
    strata = queueing.split(pool, ["A"], 0.1, 0)
    pairs = queueing.queue(pool, ["A"], strata, 0, str)
    judged = {
        (image, synset): Judgement("valid" if true[int(image)] == synset else "major")
        for image, synset in pairs
    }

    review = applying.apply_review(pool, strata, judged)

    share = applying.rates(review, 0.95, rng).none_valid
    low, high = share.interval
    assert low < (true == DOG).mean() < high
    assert np.mean([not label_set for label_set in review.after]) < low


def test_sets_are_written_with_a_row_for_an_empty_one(review):
    text = "".join(applying.lines(review, lambda synset: f"n{synset}"))

    assert text.splitlines()[:6] == ["image,wnid", "0,n0", "0,n1", "1,n1", "2,n0", "3,"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@a", "'=1", "plain"])
def test_names_that_a_spreadsheet_would_run_are_quoted_and_read_back(wordnet, tmp_path, name):
    pool = ReviewPool([name], [frozenset((0,))], {}, {})
    strata = Strata(np.array([0]), np.array([], np.int64), np.array([], np.int64))
    review = applying.ReviewedPool(pool, strata, {}, pool.sets)
    sets, rows = tmp_path / "sets.csv", tmp_path / "strata.csv"

    sets.write_text("".join(applying.lines(review, wordnet.wnid)))
    reviewing.write_strata(rows, [name], strata)
    answers = list(
        reviewing.answer_rows([(name, 0)], {(name, 0): Judgement("valid")}, wordnet.wnid)
    )

    for text in (sets.read_text(), rows.read_text()):
        assert text.splitlines()[1].startswith(name if name == "plain" else "'")
    assert answers[0][0] == (name if name == "plain" else f"'{name}")
    assert read_label_sets(sets, [name], wordnet).sets == {name: frozenset((0,))}
    assert reviewing.read_strata(rows, [name]).disagreements.tolist() == [0]
