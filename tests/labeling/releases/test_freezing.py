"""Freezing a campaign and reading it back."""

import itertools
import json
import threading
import uuid
from functools import partial
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from labeling.errors import NotYours
from labeling.files import BadInput
from labeling.models import Answer, Calibration, Campaign, Policy, Question, Seat, Settlement, User
from labeling.release_files import frozen
from labeling.releases import chunk_files, freezing, snapshots
from tests import factories
from tests.labeling.crowd import at_once

State = Question.State


def say(
    question: Question, *answers: tuple[User, str], late: tuple[tuple[User, str], ...] = ()
) -> None:
    """Answers of these people, settled as the majority of them; the late ones come afterwards."""
    counted = [_answer(question, user, value) for user, value in answers]
    values = [value for _, value in answers]
    dropped = values.count("hard") * 5 > 3 * len(values)
    value = "dropped" if dropped else max(("yes", "no"), key=values.count)
    Settlement.objects.create(
        question=question,
        policy=question.policy,
        value=value,
        answers=sorted(str(answer.pk) for answer in counted),
    )
    question.state = State.DROPPED if dropped else State.SETTLED
    question.seats_free = 0
    question.save()
    for user, value in late:
        _answer(question, user, value, late=True)


def _answer(question: Question, user: User, value: str, *, late: bool = False) -> Answer:
    seat, _ = Seat.objects.get_or_create(
        question=question,
        annotator=user,
        subject=question.pk,
        defaults={"state": "answered", "leased_until": timezone.now()},
    )
    return Answer.objects.create(
        id=uuid.uuid4(),
        assignment=seat,
        revision=seat.answers.count(),
        value=value,
        duration_ms=900,
        late=late,
    )


@pytest.fixture
def people(db) -> list[User]:
    return [factories.make_user(f"annotator{n}") for n in range(5)]


@pytest.fixture
def settled(coots: Campaign, people: list[User]) -> Campaign:
    """Of six questions: one yes, one no with a late answer, one dropped, three open."""
    first, second, third, fourth, *_ = factories.questions_of(coots)
    say(first, *zip(people, ["yes"] * 4 + ["no"], strict=True))
    say(second, *zip(people, ["no"] * 5, strict=True), late=((people[0], "yes"),))
    say(third, *zip(people, ["hard"] * 4 + ["yes"], strict=True))
    _answer(fourth, people[0], "yes")
    return coots


def lines(folder: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_answers_say_yes_no_or_null_and_only_of_what_is_settled(settled):
    release = freezing.freeze(settled)

    frozen = list(freezing.read(release).answers())

    assert [line["contains"] for line in frozen] == [True, False, None]
    assert [line["image"] for line in frozen] == [f"coots/{n:03}.png" for n in range(3)]
    assert {line["wnid"] for line in frozen} == {"n02018207"}
    assert frozen[0]["votes"] == {"yes": 4, "no": 1}
    assert frozen[0]["settled_by"] == {"policy": 1, "answers": 5}


def test_gold_and_withdrawn_questions_stay_out(settled, people):
    question = settled.questions.order_by("ticket")[3]
    say(question, *zip(people[1:], ["yes"] * 4, strict=True))
    Question.objects.filter(pk=question.pk).update(state=State.GOLD)
    Question.objects.filter(pk=settled.questions.order_by("ticket")[0].pk).update(
        state=State.WITHDRAWN
    )

    frozen = freezing.read(freezing.freeze(settled))

    assert [line["image"] for line in frozen.answers()] == ["coots/001.png", "coots/002.png"]
    assert frozen.meta["counts"]["withdrawn"] == 1


def test_votes_hold_counted_and_late_answers_under_names_of_this_release_alone(settled, people):
    release = freezing.freeze(settled)

    votes = list(freezing.read(release).votes())

    assert len(votes) == 16
    assert [vote["late"] for vote in votes].count(True) == 1
    text = "".join(path.read_text() for path in freezing.folder_of(release).iterdir())
    for person in people:
        assert person.username not in text
        assert person.pseudonym not in text
    assert len({vote["annotator"] for vote in votes}) == 5


def test_next_release_names_the_same_people_differently(settled, people):
    first = {vote["annotator"] for vote in freezing.read(freezing.freeze(settled)).votes()}
    question = settled.questions.order_by("ticket")[4]
    say(question, *zip(people, ["yes"] * 5, strict=True))

    second = {vote["annotator"] for vote in freezing.read(freezing.freeze(settled)).votes()}

    assert len(first) == len(second) == 5
    assert not first & second


def test_same_content_is_the_same_release(settled, alice, tmp_path):
    first = freezing.freeze(settled, alice, tmp_path / "one")

    second = freezing.freeze(settled, None, tmp_path / "two")

    assert second == first
    assert settled.releases.count() == 1
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_same_content_frozen_from_nothing_gives_the_same_bytes(settled, tmp_path):
    release = freezing.freeze(settled, None, tmp_path / "one")
    release.delete()

    again = freezing.freeze(settled, None, tmp_path / "two")

    assert again.sha256 == release.sha256
    for name in frozen.FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_how_and_in_which_language_answers_were_given_is_in_no_release(settled, tmp_path):
    first = freezing.freeze(settled, None, tmp_path / "one")
    Answer.objects.update(input_method="swipe", language="zh-hans")

    again = freezing.freeze(settled, None, tmp_path / "two")

    assert again.sha256 == first.sha256
    for name in frozen.FILES:
        content = (tmp_path / "two" / name).read_bytes()
        assert b"swipe" not in content
        assert b"zh-hans" not in content


def test_a_new_answer_makes_the_next_number(settled, people):
    freezing.freeze(settled)
    question = settled.questions.order_by("ticket")[5]
    say(question, *zip(people, ["no"] * 5, strict=True))

    release = freezing.freeze(settled)

    assert release.number == 2
    assert release.folder == "coots/0002"


def test_release_states_what_it_holds(settled):
    release = freezing.freeze(settled)

    meta = freezing.read(release).meta

    assert meta["campaign"]["name"] == "coots"
    assert meta["campaign"]["dataset"] == "pond"
    assert meta["policies"][0]["version"] == 1
    assert meta["policies"][0]["content"]["votes"] == 5
    assert meta["counts"]["settled"] == 2
    assert meta["counts"]["dropped"] == 1
    assert meta["counts"]["open"] == 3
    assert meta["counts"]["votes"] == 15
    assert meta["counts"]["late"] == 1
    assert meta["counts"]["annotators"] == 5
    assert meta["code_version"] == freezing.code_version()
    assert set(meta["files"]) == set(frozen.FILES)


def test_images_and_topics_come_with_the_release(settled):
    folder = freezing.folder_of(freezing.freeze(settled))

    images, topics = lines(folder, "images.jsonl"), lines(folder, "topics.jsonl")

    assert [image["name"] for image in images] == [f"coots/{n:03}.png" for n in range(3)]
    assert (images[0]["width"], images[0]["height"]) == (64, 48)
    assert topics[0]["key"] == "n02018207"
    assert topics[0]["synonyms"] == ["marsh hen", "mud hen"]


def test_an_empty_campaign_freezes_to_empty_files(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, launch=False)

    release = freezing.freeze(campaign)

    assert list(freezing.read(release).answers()) == []
    assert release.counts["votes"] == 0


@pytest.mark.parametrize("name", frozen.FILES)
def test_a_changed_file_is_named_with_a_cure(settled, name):
    release = freezing.freeze(settled)
    with open(freezing.folder_of(release) / name, "a") as file:
        file.write("{}\n")

    with pytest.raises(BadInput, match="differs from what was frozen") as refusal:
        freezing.read(release)

    assert refusal.value.file.endswith(name)
    assert "freeze the campaign again" in refusal.value.cure


def test_a_changed_head_is_refused(settled):
    release = freezing.freeze(settled)
    head = freezing.folder_of(release) / "release.json"
    head.write_text(head.read_text().replace('"votes": 15', '"votes": 99'))

    with pytest.raises(BadInput, match="changed after it was frozen"):
        freezing.read(head.parent)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ("[]", "not the head"), (None, "is not a release")],
)
def test_what_is_no_release_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "release.json").write_text(content)

    with pytest.raises(BadInput, match=message):
        freezing.read(tmp_path)


def test_out_is_never_written_over(settled, tmp_path):
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "mine.txt").write_text("keep")

    with pytest.raises(BadInput, match="already exists"):
        freezing.freeze(settled, None, tmp_path / "release")

    assert (tmp_path / "release" / "mine.txt").read_text() == "keep"
    assert settled.releases.count() == 0


def test_a_failed_freeze_leaves_nothing(settled, settings, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OSError("the disk is full")

    monkeypatch.setattr(snapshots, "_topic_line", fail)

    with pytest.raises(OSError, match="the disk is full"):
        freezing.freeze(settled)

    assert settled.releases.count() == 0
    assert list(Path(settings.RELEASES_DIR).iterdir()) == []


def test_a_lost_folder_comes_back_under_its_number(settled):
    release = freezing.freeze(settled)
    folder = freezing.folder_of(release)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()

    again = freezing.freeze(settled)

    assert again == release
    assert freezing.read(again).meta["number"] == 1


def test_interim_release_goes_once_a_newer_stands(settled, people):
    first = freezing.freeze(settled, interim=True)
    say(settled.questions.order_by("ticket")[4], *zip(people, ["no"] * 5, strict=True))
    second = freezing.freeze(settled, interim=True)

    assert freezing.prune(settled, first) == 0, "a run may be scoring the second"
    assert freezing.prune(settled, second) == 1

    assert list(settled.releases.all()) == [second]
    assert not freezing.folder_of(first).exists()


def test_interim_release_stays_if_somebody_asks_for_it_while_others_go(
    settled, people, monkeypatch
):
    first = freezing.freeze(settled, interim=True)
    say(settled.questions.order_by("ticket")[4], *zip(people, ["no"] * 5, strict=True))
    second = freezing.freeze(settled, interim=True)
    say(settled.questions.order_by("ticket")[5], *zip(people, ["no"] * 5, strict=True))
    newest = freezing.freeze(settled, interim=True)
    remove = freezing.shared_files.remove

    def ask_meanwhile(*arguments):
        remove(*arguments)
        for release in settled.releases.exclude(pk=newest.pk):
            release.counts["interim"] = False
            release.save()

    monkeypatch.setattr(freezing.shared_files, "remove", ask_meanwhile)

    assert freezing.prune(settled, newest) == 1

    [kept] = settled.releases.exclude(pk=newest.pk)
    assert kept in (first, second)
    assert freezing.folder_of(kept).exists()


def test_interim_release_stays_once_somebody_asks_for_it(settled, people, alice):
    freezing.freeze(settled, interim=True)
    kept = freezing.freeze(settled, alice)
    say(settled.questions.order_by("ticket")[4], *zip(people, ["no"] * 5, strict=True))
    newer = freezing.freeze(settled, interim=True)

    assert freezing.prune(settled, newer) == 0

    assert set(settled.releases.all()) == {kept, newer}


def test_numbers_that_nobody_has_are_not_found(settled):
    with pytest.raises(NotYours, match="no release 7"):
        freezing.release_for(settled, 7)


def test_queries_grow_with_chunks_not_with_questions(
    alice, dataset, people, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(chunk_files, "BATCH", 10)
    campaign = factories.make_campaign(alice, dataset, images=40)
    for question in factories.questions_of(campaign):
        say(question, *zip(people, ["yes"] * 5, strict=True))

    # On PostgreSQL a chunk is a transaction whose plans are by keys.
    begins_and_ends = 3 if connection.vendor == "postgresql" else 0
    with django_assert_num_queries((2 + begins_and_ends) * 4 + 16):
        freezing.freeze(campaign)


def _crowded_pond() -> tuple[Campaign, list[User]]:
    alice = factories.make_user("alice", is_researcher=True)
    campaign = factories.make_campaign(alice, factories.make_dataset(alice), images=4)
    people = [factories.make_user(f"annotator{n}") for n in range(5)]
    for question in factories.questions_of(campaign)[:3]:
        say(question, *zip(people, ["yes"] * 5, strict=True))
    return campaign, people


@pytest.mark.usefixtures("throwaway")
def test_answers_settle_while_a_release_is_read(monkeypatch):
    campaign, people = _crowded_pond()
    last = factories.questions_of(campaign)[3]
    monkeypatch.setattr(chunk_files, "BATCH", 1)
    usual = chunk_files._read_history
    count = itertools.count()

    def settle_meanwhile(chunk):
        if next(count) == 1:
            writer = threading.Thread(target=_settle_elsewhere, args=(last.pk, people))
            writer.start()
            # A release that held the database's write lock would keep it waiting here.
            writer.join(timeout=10)
            assert not writer.is_alive()
        return usual(chunk)

    monkeypatch.setattr(chunk_files, "_read_history", settle_meanwhile)

    release = freezing.freeze(campaign)

    assert release.counts["settled"] == 3
    assert len(list(freezing.read(release).answers())) == 3
    assert Question.objects.get(pk=last.pk).state == State.SETTLED


def _settle_elsewhere(pk: int, people: list[User]) -> None:
    try:
        say(Question.objects.get(pk=pk), *zip(people, ["no"] * 5, strict=True))
    finally:
        connection.close()


@pytest.mark.usefixtures("throwaway")
def test_those_who_freeze_at_once_get_one_release():
    campaign, _ = _crowded_pond()

    made = at_once(*[partial(freezing.freeze, campaign)] * 4)

    assert made == [made[0]] * 4
    assert [release.number for release in campaign.releases.all()] == [1]


def test_what_was_settled_by_standing_names_its_calibration_and_nobody(settled, people):
    content = {
        "classes": ["no", "yes"],
        "annotators": {str(people[0].pk): {"confusion": [[0.9, 0.1], [0.2, 0.8]], "answers": 3}},
        "prior": {"*": [0.7, 0.3]},
        "tables": {},
        "voided": [people[4].pk],
    }
    unused = Calibration.objects.create(campaign=settled, number=1, content=content)
    used = Calibration.objects.create(campaign=settled, number=2, content=content)
    policy = Policy.objects.create(campaign=settled, version=2, content={"method": "posterior"})
    first = Settlement.objects.filter(question__campaign=settled).order_by("pk").first()
    Settlement.objects.filter(pk=first.pk).update(calibration=used, policy=policy, probability=0.99)

    frozen = freezing.read(freezing.freeze(settled))

    weighed, plain, _ = frozen.answers()
    assert weighed["settled_by"] == {"policy": 2, "answers": 5, "calibration": 2}
    assert weighed["probability"] == 0.99
    assert "calibration" not in plain["settled_by"]
    assert frozen.meta["calibrations"] == [
        {
            "number": 2,
            "classes": ["no", "yes"],
            "prior": {"*": [0.7, 0.3]},
            "annotators": 1,
            "voided": 1,
        }
    ]
    assert unused.number == 1
