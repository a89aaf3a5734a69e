"""Learn a calibration's content from all answers of a campaign (calibrating.py saves it).

Yes-no questions: Dawid–Skene over every counting vote, with gold as known labels, gives each person
a confusion matrix. Many classes: each person has one accuracy, and errors are spread evenly over
the other classes.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.consensus import calibration_store
from labeling.consensus.calibration_store import (
    CalibrationContent,
    LearnedError,
    PersonSkill,
    TargetOutcome,
)
from labeling.consensus.votes import sent_back_since
from labeling.estimators import stated_error
from labeling.estimators.aggregation import Floats, Ints, vote_counts
from labeling.estimators.dawid_skene import DawidSkene, dawid_skene
from labeling.estimators.vote_tables import CALIBRATION_VOTES, learn_vote_tables
from labeling.kinds import KINDS, deciding, policies
from labeling.kinds.base import DrawnKind
from labeling.models import Answer, Audit, Campaign, Question

CHUNK = 1_000
# Pseudo-answers of everyone: two right and one wrong per class, so that a few answers make nobody
# perfect, and a crowd that always gives the same answer stays better than chance.
RIGHT, WRONG = 2.0, 1.0
# In questions: weight of the policy's prior in the campaign's, and of the campaign's in a topic's.
CAMPAIGN_PRIOR, TOPIC_PRIOR = 2.0, 20.0
# EM stops at a smaller gain, which changes no reputation noticeably.
TOLERANCE = 1e-4
ROUNDS = 100
DIGITS = 6
FOLDS = 5
# Targets whose outcome is forecast.
TARGETS = (0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005)


@dataclass
class VoteArrays:
    """N votes on I questions, as numbers.

    people, questions, words: (N,), each question's in the order they came. topics: (I,). known,
    audited: (I,), the word of gold and of an audit, -1 without one. Questions with abstentions only
    are left out. ids: of people, sorted.
    """

    people: NDArray[np.int64]
    questions: NDArray[np.int64]
    words: NDArray[np.int64]
    topics: list[str]
    known: NDArray[np.int64]
    audited: NDArray[np.int64]
    ids: list[int]


@dataclass
class _Reading:
    people: "array[int]" = field(default_factory=lambda: array("q"))
    questions: "array[int]" = field(default_factory=lambda: array("q"))
    words: "array[int]" = field(default_factory=lambda: array("q"))
    topics: list[str] = field(default_factory=list)
    known: "array[int]" = field(default_factory=lambda: array("q"))
    audited: "array[int]" = field(default_factory=lambda: array("q"))


def learn(campaign: Campaign, voided: frozenset[int] = frozenset()) -> CalibrationContent:
    """Return the content of a calibration; its voided people and its time are not set.

    voided: people whose answers are left out. Equal answers give equal content in any database.
    """
    classes = KINDS[campaign.kind].classes(campaign.settings)
    policy, kind = policies.for_campaign(campaign), KINDS[campaign.kind]
    if isinstance(kind, DrawnKind):
        chunks = _answered(campaign, voided)
        answers_and_gold = ((answers, gold) for chunk in chunks for _, _, gold, answers in chunk)
        return CalibrationContent.from_json(
            {"classes": list(classes), **kind.learn(answers_and_gold, policy)}
        )
    return learn_from(read(campaign, classes, voided), classes, policy)


def learn_from(
    votes: VoteArrays, classes: tuple[str, ...], policy: policies.WholePolicy
) -> CalibrationContent:
    """Return the content of a calibration for these votes, which name classes by number."""
    learned = _people(votes, classes, policy)
    if policy["target_rule"] == "measured":
        learned.error = _error(votes, classes, policy)
    return learned


def _people(
    votes: VoteArrays, classes: tuple[str, ...], policy: policies.WholePolicy
) -> CalibrationContent:
    learned = (
        _learn_binary(votes, policy)
        if len(classes) == 2
        else _learn_classes(votes, policy, len(classes))
    )
    learned.classes = list(classes)
    return learned


def _error(
    votes: VoteArrays, classes: tuple[str, ...], policy: policies.WholePolicy
) -> LearnedError | None:
    """Return the error measured on random gold and audits; None without any.

    For each fold, skills are learned without the fold's gold. Audits are not used to learn skills.
    """
    truth = votes.audited
    images = np.flatnonzero(truth >= 0)
    order = np.argsort(votes.questions, kind="stable")
    bounds = np.searchsorted(votes.questions[order], np.arange(len(votes.topics) + 1))
    rows: list[tuple[float, int, bool, int]] = []
    for first in range(min(FOLDS, len(images))):
        fold = images[first::FOLDS]
        known = np.where(np.isin(np.arange(len(truth)), fold), -1, votes.known)
        skills = calibration_store.skills_of(_people(replace(votes, known=known), classes, policy))
        for image in fold.tolist():
            first_votes = order[bounds[image] : bounds[image + 1]][: policy["max_votes"]]
            able = [(votes.ids[votes.people[at]], classes[votes.words[at]]) for at in first_votes]
            for size in range(policy["min_votes"], len(able) + 1):
                word, share = deciding.best(able[:size], policy, skills, votes.topics[image])
                rows.append((share, size, word != classes[truth[image]], image))
    if not rows:
        return None
    shares, sizes, wrong, which = (np.array(column) for column in zip(*rows, strict=True))
    margins = stated_error.settled_margins(shares, sizes, by_majority=False)
    prefixes = stated_error.VotePrefixes(margins, sizes, wrong, which)
    model = stated_error.fit_prefixes(prefixes)
    used = np.unique(which)
    return LearnedError(
        coefficients=_rounded(model.coefficients),
        covariance=_rounded(model.covariance),
        largest_margin=round(model.largest_margin, DIGITS),
        gold=int((votes.known[used] >= 0).sum()),
        audited=int((votes.known[used] < 0).sum()),
        wrong=round(model.wrong, DIGITS),
        targets=[
            TargetOutcome(target=at.target, share=round(at.share, DIGITS), votes=round(at.votes, 2))
            for at in stated_error.forecasts(model, prefixes, TARGETS)
        ],
    )


def read(campaign: Campaign, classes: tuple[str, ...], voided: frozenset[int]) -> VoteArrays:
    """Return every vote on open and settled questions and on active gold: each person's latest
    revision that was not late. Abstentions are left out.
    """
    kind = KINDS[campaign.kind]
    code = {word: number for number, word in enumerate(classes)}
    reading = _Reading()
    audits = Audit.objects.measuring().filter(campaign=campaign).order_by("pk")
    audited = dict(audits.values_list("question", "value"))

    def number(value: Any) -> int:
        return -1 if value is None else code.get(kind.vote(value) or "", -1)

    for chunk in _answered(campaign, voided):
        for pk, topic, gold, answers in chunk:
            words = [(person, number(value)) for person, value in answers.items()]
            able = [(person, word) for person, word in words if word >= 0]
            _keep(reading, able, topic, number(gold), number(audited.get(pk)))
    return _numbered(reading)


def _answered(
    campaign: Campaign, voided: frozenset[int]
) -> Iterator[list[tuple[int, str, Any, dict[int, Any]]]]:
    """Yield (id, topic, known answer, {person: latest counting answer}) by id, many at a time.

    People in the order of their first answers.
    """
    for chunk in _questions(campaign):
        rows = (
            Answer.objects.filter(assignment__question_id__in=[row[0] for row in chunk], late=False)
            .exclude(sent_back_since())
            .exclude(assignment__annotator__in=voided)
            .order_by("assignment__question_id", "revision", "created_at", "id")
            .values_list("assignment__question_id", "assignment__annotator_id", "value")
        )
        latest: dict[int, dict[int, Any]] = {}
        for question, person, value in rows:
            latest.setdefault(question, {})[person] = value
        yield [(pk, topic, gold, latest.get(pk, {})) for pk, topic, gold in chunk]


def _questions(campaign: Campaign) -> Iterator[list[tuple[int, str, Any]]]:
    """Yield (id, topic, known answer) by id, a thousand at a time.

    Withdrawn questions are left out, and retired gold, which was usually wrong.
    """
    last = 0
    while True:
        rows = (
            Question.objects.filter(campaign=campaign, pk__gt=last, gold__retired_at=None)
            .exclude(state=Question.State.WITHDRAWN)
            .order_by("pk")
            .values_list("pk", "topic", "gold__answer")[:CHUNK]
        )
        chunk = list(rows)
        if not chunk:
            return
        yield chunk
        last = chunk[-1][0]


def _keep(
    reading: _Reading, votes: list[tuple[int, int]], topic: str, known: int, audited: int
) -> None:
    if not votes:
        return
    reading.people.extend(person for person, _ in votes)
    reading.words.extend(word for _, word in votes)
    reading.questions.extend([len(reading.topics)] * len(votes))
    reading.topics.append(topic)
    reading.known.append(known)
    reading.audited.append(audited)


def _numbered(reading: _Reading) -> VoteArrays:
    ids, people = np.unique(np.array(reading.people, np.int64), return_inverse=True)
    return VoteArrays(
        people.reshape(-1),
        np.array(reading.questions, np.int64),
        np.array(reading.words, np.int64),
        reading.topics,
        np.array(reading.known, np.int64),
        np.array(reading.audited, np.int64),
        ids.tolist(),
    )


def _learn_binary(votes: VoteArrays, policy: policies.WholePolicy) -> CalibrationContent:
    base = np.array([1 - policy["prior_yes"], policy["prior_yes"]])
    estimate = dawid_skene(
        votes.people,
        votes.questions,
        votes.words,
        n_annotators=len(votes.ids),
        n_items=len(votes.topics),
        n_classes=2,
        class_prior=CAMPAIGN_PRIOR * base,
        confusion_prior=[[RIGHT, WRONG], [WRONG, RIGHT]],
        known=votes.known,
        # Gold is balanced on purpose, so it does not show how common a yes is.
        known_in_prior=False,
        tolerance=TOLERANCE,
    )
    answers, gold = _counts(votes)
    return CalibrationContent(
        annotators={
            str(pk): PersonSkill(
                confusion=_rounded(estimate.confusions[person]),
                answers=int(answers[person]),
                gold=int(gold[person]),
            )
            for person, pk in enumerate(votes.ids)
        },
        prior=_priors(votes, estimate, base),
        tables=_tables(votes, estimate, policy),
    )


def _counts(votes: VoteArrays) -> tuple[Ints, Ints]:
    """Return (A,) votes of each person, and how many of them were on gold."""
    golden = votes.people[votes.known[votes.questions] >= 0]
    n = len(votes.ids)
    return np.bincount(votes.people, minlength=n), np.bincount(golden, minlength=n)


def _priors(votes: VoteArrays, estimate: DawidSkene, base: Floats) -> dict[str, list[float]]:
    """Return [P(no), P(yes)] of the campaign under "*", and of each topic, shrunk to the
    campaign's.
    """
    is_open = votes.known < 0
    shares = estimate.posteriors[is_open]
    whole = (shares.sum(axis=0) + CAMPAIGN_PRIOR * base) / (len(shares) + CAMPAIGN_PRIOR)
    topics = np.array(votes.topics, object)[is_open]
    priors = {"*": _rounded(whole)}
    names, topic_index = np.unique(topics.astype(str), return_inverse=True)
    sums = np.column_stack(
        [np.bincount(topic_index.reshape(-1), shares[:, word], len(names)) for word in (0, 1)]
    )
    for name, row in zip(names.tolist(), sums, strict=True):
        priors[name] = _rounded((row + TOPIC_PRIOR * whole) / (row.sum() + TOPIC_PRIOR))
    return priors


def _tables(
    votes: VoteArrays, estimate: DawidSkene, policy: policies.WholePolicy
) -> dict[str, object]:
    """Return vote tables of topics with a pilot, if the policy uses them."""
    counts = vote_counts(votes.questions, votes.words, len(votes.topics), 2)
    # Gold is not a random sample of its topic.
    pilot = (counts.sum(axis=1) >= CALIBRATION_VOTES) & (votes.known < 0)
    if policy["method"] != "vote-table" or not pilot.any():
        return {}
    tables = learn_vote_tables(
        counts[pilot, 1],
        counts[pilot, 0],
        good=estimate.posteriors[pilot, 1],
        topic=[votes.topics[index] for index in np.flatnonzero(pilot)],
        size=policy["max_votes"],
    )
    return {
        topic: {"cells": [_rounded(row) for row in table.cells], "images": table.images}
        for topic, table in tables.items()
        if topic
    }


def _learn_classes(
    votes: VoteArrays, policy: policies.WholePolicy, n_classes: int
) -> CalibrationContent:
    accuracy = accuracies(votes, n_classes, policy["assumed_accuracy"])
    answers, gold = _counts(votes)
    return CalibrationContent(
        annotators={
            str(pk): PersonSkill(
                accuracy=round(float(accuracy[person]), DIGITS),
                answers=int(answers[person]),
                gold=int(gold[person]),
            )
            for person, pk in enumerate(votes.ids)
        }
    )


def accuracies(votes: VoteArrays, n_classes: int, assumed: float) -> Floats:
    """Return (A,) how often each annotator names the right one of many classes, by expectation
    maximisation.

    One-coin model: errors are spread evenly over the other classes, and classes are equally likely.
    Only classes that somebody named are stored, so memory grows with the votes only.
    """
    pairs, pair_index = np.unique(votes.questions * n_classes + votes.words, return_inverse=True)
    pair_index = pair_index.reshape(-1)
    question, word = pairs // n_classes, pairs % n_classes
    unnamed = n_classes - np.bincount(question, minlength=len(votes.topics))
    known = votes.known[question]
    n = len(votes.ids)
    votes_by_person = np.bincount(votes.people, minlength=n)
    accuracy = np.full(n, assumed)
    for _ in range(ROUNDS):
        gains = np.log(accuracy) - np.log((1 - accuracy) / (n_classes - 1))
        scores = np.bincount(pair_index, gains[votes.people], len(pairs))
        top = np.zeros(len(votes.topics))
        np.maximum.at(top, question, scores)
        weights = np.exp(scores - top[question])
        total = np.bincount(question, weights, len(top)) + unnamed * np.exp(-top)
        right = np.where(known >= 0, word == known, weights / total[question])
        expected = np.bincount(votes.people, right[pair_index], n)
        before, accuracy = accuracy, (expected + RIGHT) / (votes_by_person + RIGHT + WRONG)
        if np.abs(accuracy - before).max(initial=0.0) < 10**-DIGITS:
            break
    return accuracy


def _rounded(values: ArrayLike) -> list[Any]:
    """Return lists rounded to the stored digits: the last digits differ between machines."""
    rounded: list[Any] = np.round(np.asarray(values, float), DIGITS).tolist()
    return rounded
