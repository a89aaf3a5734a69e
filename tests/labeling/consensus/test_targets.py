"""A target error is kept: on two real crowds, and by a campaign on a simulated one."""

import json
from functools import partial

import numpy as np
import pytest

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store, learned_skills, settling
from labeling.consensus.calibration_store import CalibrationContent
from labeling.kinds import deciding, policies
from labeling.kinds.votes import most_probable
from labeling.models import Calibration, Policy, Settlement
from labeling.quality import auditing
from labeling.reports import target_advice
from labeling.simulation.crowd import Crowd, gather
from tests import factories
from tests.contract.conftest import KEPT
from tests.labeling import crowds
from tests.labeling.crowd import answer, answer_all, people, vote


def settled_by_target(folder, target, seed, share=0.2, most=10, live=False):
    """Return (settled, wrong): shares of the images outside a random gold. Votes come in random
    order; live: people are learned from the votes so far, not from all."""
    answers, truth = crowds.real_crowd(folder)
    rng = np.random.default_rng(seed)
    n, classes = len(truth), answers.classes
    classes = ("no", "yes") if len(classes) == 2 else classes
    order = np.lexsort((rng.random(len(answers)), answers.items))
    people, items, labels = (
        column[order].astype(np.int64)
        for column in (answers.annotators, answers.items, answers.labels)
    )
    rank = np.arange(len(items)) - np.searchsorted(items, items) + 1
    known = np.full(n, -1)
    gold = rng.choice(n, round(share * n), replace=False)
    known[gold] = truth[gold]
    policy = policies.clean_new({"method": "posterior", "target_error": target, "max_votes": most})
    label, votes_so_far = np.full(n, -1), np.full(n, most)
    votes_so_far[known < 0] = policy["min_votes"]
    for size in range(policy["min_votes"], most + 1):
        if live or size == policy["min_votes"]:
            used = rank <= np.minimum(votes_so_far, size)[items] if live else rank > 0
            names, who = np.unique(people[used], return_inverse=True)
            votes = learned_skills.VoteArrays(
                who, items[used], labels[used], [""] * n, known, known, names.tolist()
            )
            content = learned_skills.learn_from(votes, classes, policy)
            skills = calibration_store.skills_of(content)
        for item in np.flatnonzero((label < 0) & (known < 0)):
            rows = np.flatnonzero((items == item) & (rank <= size))
            able = [(int(people[row]), classes[labels[row]]) for row in rows]
            word, probability = deciding.best(able, policy, skills, "")
            if deciding.measured_error(probability, len(able), skills) <= target:
                label[item] = classes.index(word)
            else:
                votes_so_far[item] = size + 1
    settled = label >= 0
    outside = (known < 0).sum()
    wrong = (label[settled] != truth[settled]).mean() if settled.any() else 0
    return settled.sum() / outside, wrong


@pytest.mark.parametrize("live", [False, True], ids=["all votes", "last calibration"])
@pytest.mark.parametrize(("folder", "least"), [("bluebirds", 0.05), ("crowds/dogs", 0.5)])
@pytest.mark.ci
def test_a_target_is_kept_on_real_crowds(folder, least, live):
    for target in (0.2, 0.05):
        outcomes = [settled_by_target(folder, target, seed, live=live) for seed in range(3)]
        beyond = [settled * max(0, wrong - target) for settled, wrong in outcomes]
        assert np.mean(beyond) <= 0.01
        if target == 0.2:
            assert np.mean([settled for settled, _ in outcomes]) >= least


@pytest.mark.ci
def test_a_campaign_on_a_simulated_crowd_keeps_its_target(alice, dataset):
    chance, target = np.random.default_rng(4), 0.2
    # The order of questions follows their keys, and with them how many settle: 53 to 110 of 150.
    crowd = Crowd(people=16, random=0, right=0.9)
    campaign = factories.make_campaign(
        alice,
        dataset,
        "simulated",
        images=210,
        policy={
            "method": "posterior",
            "target_error": target,
            "undecided": "keep",
            "gold_share": 0.5,
            "page_size": 60,
        },
    )
    truth = {
        pk: str(chance.choice(["yes", "no"]))
        for pk in campaign.questions.values_list("pk", flat=True)
    }
    auditing.draw(campaign, alice, 60, seed=1, for_gold=True)
    while drawn := auditing.next_for(alice, campaign):
        auditing.answer(drawn, alice, truth[drawn.question_id])
    hard = {pk: chance.random() < crowd.hard.share for pk in truth}
    gathered = gather(crowd, chance)
    accuracies = zip(gathered.accuracy, gathered.hard_accuracy, strict=True)
    members = list(zip(people(campaign, crowd.people), accuracies, strict=True))

    def give(seat, accuracy):
        right = chance.random() < accuracy[hard[seat.question_id]]
        return truth[seat.question_id] if right else OTHER[truth[seat.question_id]]

    for _ in range(10):
        for person, accuracy in members:
            if seats := claiming.next_page(person, campaign).seats:
                answer(person, campaign, seats, partial(give, accuracy=accuracy))
        campaign.refresh_from_db()
        made = calibrating.calibrate(campaign)

    learned = CalibrationContent.from_json(made.content).error
    assert learned.gold == 60
    settled = dict(
        Settlement.objects.filter(question__state="settled").values_list("question", "value")
    )
    wrong = np.mean([value != truth[pk] for pk, value in settled.items()])
    assert len(settled) > 20
    assert len(settled) / 150 * (wrong - target) <= 0.03
    kept = Settlement.objects.filter(question__state="dropped").values_list("value", flat=True)
    assert {most_probable(value) for value in kept} <= {"yes", "no"}
    assert len(settled) + len(kept) == 150
    assert list(settling.rebuild(campaign)) == []


OTHER = {"yes": "no", "no": "yes"}


def test_a_policy_and_a_calibration_of_the_second_edition_are_rebuilt_as_they_were(alice, dataset):
    stored = json.loads((KEPT / "policies.json").read_text())["graphs"]
    old = stored | {"method": "posterior", "target_error": 0.05, "gold_share": 0}
    assert not {"target_rule", "undecided"} & set(old)
    campaign = factories.make_campaign(alice, dataset, images=4)
    Policy.objects.filter(campaign=campaign).update(content=old)
    campaign.questions.update(seats_free=2)
    crowd = people(campaign, 9)
    skill = {"confusion": [[0.9, 0.1], [0.1, 0.9]], "answers": 90, "gold": 9}
    content = {"annotators": {str(person.pk): skill for person in crowd}, "voided": []}
    campaign.calibration = Calibration.objects.create(campaign=campaign, number=1, content=content)
    campaign.save()

    for person, word in zip(crowd, ["yes", "no", "yes", "yes"], strict=False):
        vote(person, campaign, word)

    # By the model: 9² : 1, wrong 1 in 82.
    rows = Settlement.objects.all()
    assert [(row.value, len(row.answers)) for row in rows] == [("yes", 4)] * 4
    assert [row.probability for row in rows] == pytest.approx([81 / 82] * 4)
    assert list(settling.rebuild(campaign)) == []
    assert calibration_store.content_of(campaign).to_json() == content
    campaign.refresh_from_db()
    assert "error" not in calibrating.calibrate(campaign).content
    lifecycle.change_policy(campaign, alice, {"votes": 7})
    assert campaign.policies.latest("version").content["target_rule"] == "model"
    assert list(settling.rebuild(campaign)) == []


def test_audits_measure_the_error_too_and_every_night(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=30, policy={"votes": 3})
    assert not calibrating.calibrate_nightly(campaign)
    for person in people(campaign, 3):
        answer_all(person, campaign, "yes")
    auditing.draw(campaign, alice, 20, seed=1)
    for _ in range(20):
        auditing.answer(auditing.next_for(alice, campaign), alice, "yes")

    assert calibrating.calibrate_nightly(campaign)

    campaign.refresh_from_db()
    learned = calibration_store.content_of(campaign).error
    assert (learned.gold, learned.audited, learned.wrong) == (0, 20, 0)
    shares = [row.share for row in sorted(learned.targets, key=lambda row: row.target)]
    assert shares == sorted(shares)
    advice = target_advice.for_campaign(campaign)
    assert (advice.known, advice.needed, advice.proposed.target) == (20, 0, 0.15)
    lifecycle.change_policy(campaign, alice, {"method": "posterior", "target_error": 0.05})
    campaign.refresh_from_db()
    assert target_advice.for_campaign(campaign).needed == 60
