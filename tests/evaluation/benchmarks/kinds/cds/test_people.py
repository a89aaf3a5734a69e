"""People name single frames, nobody two of one object, and are scored like a classifier."""

import json
import uuid
from pathlib import Path

import pytest
from PIL import Image as Pillow

from evaluation.benchmarks import class_lists, folders
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.cds import benchmarks, people, people_frames, running
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.models import Benchmark
from evaluation.readers.frame_predictions import NOT_ASKED
from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.errors import Conflict, Refusal
from labeling.jobs import queue
from labeling.models import Image, Item, Job, Seat
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of
from tests.labeling import crowd, part_releases
from tests.labeling.parted import CAT, COW

DOG = "n02084071"
INTRA = "intra-object"


@pytest.fixture
def benchmark(alice, bob, dataset, wordnet):
    """Two cats and a cow of a release, revealed in one order on black and sharp in a blur."""
    release = part_releases.release(alice, bob, dataset)
    return benchmarks.create(
        alice,
        name="cats",
        title="Cats, revealed",
        campaign=release.campaign,
        release=release,
        part_schemes=("random",),
        content_schemes=(INTRA, "low"),
        mapping={CAT: [CAT], COW: [COW]},
        bootstrap=0,
    )


def ask(benchmark, actor, **fields):
    fields_of_ask = {"part_scheme": "random", "content_scheme": INTRA, "votes": 1} | fields
    return people.ask(benchmark, actor, **fields_of_ask)


def work():
    """All jobs of frames that wait, run."""
    for pk in Job.objects.filter(kind=people.JOB, state="queued").values_list("pk", flat=True):
        job = queue.run(pk)
        assert job.state == "done", job.error


def opened(benchmark, actor, **fields):
    campaign = ask(benchmark, actor, **fields)
    work()
    lifecycle.launch(campaign, actor)
    return campaign


def images_of(benchmark):
    """Frame → image, as the benchmark keeps it."""
    return people._images(benchmark)


def frames_of(benchmark):
    return SequenceHistory.of(benchmark).frames_at(1)


def name_all(campaign, count, says):
    """So many people name all they get, each frame as `says` of its image name."""
    for person in crowd.people(campaign, count, "namer"):
        while seats := claiming.next_page(person, campaign).seats:
            sent = [
                submitting.SubmittedAnswer(uuid.uuid4(), seat.token, says(seat.image_name), 900)
                for seat in seats
            ]
            submitting.submit(person, campaign, sent)


def test_every_frame_is_asked_once_as_an_image_of_its_object(benchmark, alice, dataset):
    campaign = ask(benchmark, alice)
    assert campaign.state == "draft"
    work()

    lines = [line for line in benchmarks.lines_of(benchmark) if line.content_scheme == INTRA]
    object_of_frame = {frame: (line.image, line.object) for line in lines for frame in line.frames}
    images = images_of(benchmark)
    assert images.keys() == object_of_frame.keys()
    questions = {
        row.item.image.name: row
        for row in campaign.questions.select_related("item__image", "item__derived_from__image")
    }
    assert set(images.values()) == set(questions)
    for frame, (photograph, name) in object_of_frame.items():
        question = questions[images[frame]]
        thing = Item.objects.get(image__dataset=dataset, image__name=photograph, name=name)
        assert question.subject == -thing.pk
        assert question.seats_free == 1
    assert campaign.dataset.name == "cats-frames"
    assert campaign.dataset.owner == alice


def test_an_image_has_the_pixels_of_its_frame(benchmark, alice, dataset):
    ask(benchmark, alice)
    work()

    line = next(line for line in benchmarks.lines_of(benchmark) if line.content_scheme == INTRA)
    whole = Image.objects.get(name=images_of(benchmark)[line.frames[-1]])
    photograph = Image.objects.get(dataset=dataset, name=line.image)
    thing = Item.objects.get(image=photograph, name=line.object)
    with (
        photograph.file.open() as sent,
        whole.file.open() as made,
        Pillow.open(sent) as file,
        Pillow.open(made) as frame,
    ):
        assert frame.tobytes() == file.convert("RGB").crop(thing.region).tobytes()
        # What the file says beside its pixels is no name.
        assert set(frame.text) == {"object"}
        assert line.image not in str(frame.text)


def test_questions_come_in_no_order_that_tells(benchmark, alice):
    campaign = ask(benchmark, alice, content_scheme=[INTRA, "low"])
    work()

    names = [question.item.image.name for question in factories.questions_of(campaign)]
    assert names != sorted(names)


def test_several_schemes_share_their_subjects_and_frames_that_look_alike(benchmark, alice):
    campaign = ask(benchmark, alice, content_scheme=[INTRA, "low"])
    work()

    images = images_of(benchmark)
    objects = {(line.image, line.object) for line in benchmarks.lines_of(benchmark)}
    assert len(set(campaign.questions.values_list("subject", flat=True))) == len(objects)
    assert campaign.questions.count() == len(set(images.values())) <= len(images)


def test_frames_of_one_look_are_one_image_of_an_object_and_not_of_two(alice):
    black = people_frames.np.zeros((4, 5, 3), "uint8")

    first = people_frames.png(black, ("a.png", "cat-1"))

    assert first == people_frames.png(black, ("a.png", "cat-1"))
    assert first != people_frames.png(black, ("a.png", "cat-2"))


def test_a_frame_whose_id_cannot_name_an_image_has_another_name():
    plain, dotted = "a/cat-1/E_U/low/01", "a/../cat-1/E_U/low/01"

    assert people_frames.image_name(plain) == plain
    for odd in (dotted, "x" * 401, "a//E_U/low/01", "a\\b/low/01"):
        name = people_frames.image_name(odd)
        assert name.startswith("frames/")
        assert people_frames.clean_name(name) == name
    assert people_frames.image_name("a//x") != people_frames.image_name("a/./x")


def test_the_job_goes_on_where_it_was_killed_and_asks_nothing_twice(benchmark, alice, monkeypatch):
    campaign = ask(benchmark, alice)
    [job] = Job.objects.filter(kind=people.JOB)
    rendered = []
    add = people_frames._add

    def dies(dataset, frame, *rest):
        if len(rendered) == 2:
            raise KeyboardInterrupt
        rendered.append(frame)
        return add(dataset, frame, *rest)

    monkeypatch.setattr(people_frames, "_add", dies)
    with pytest.raises(KeyboardInterrupt):
        people_frames.execute(queue.claim(job.pk))
    part = people.frames_path(benchmark).with_suffix(".part")
    with open(part, "ab") as file:
        file.write(b'{"frame": "cut o')
    before = list(rendered)
    monkeypatch.setattr(people_frames, "_add", lambda *a: rendered.append(a[1]) or add(*a))
    Job.objects.filter(pk=job.pk).update(state="queued")

    work()

    assert len(rendered) == len(set(rendered))
    assert rendered[:2] == before
    assert set(rendered) == set(images_of(benchmark))
    assert campaign.questions.count() == len(set(images_of(benchmark).values()))
    question_count = campaign.questions.count()
    Job.objects.filter(pk=job.pk).update(state="queued")
    work()
    assert campaign.questions.count() == question_count
    assert campaign.dataset.images.count() == question_count


def test_images_that_were_added_but_not_noted_are_found_again(benchmark, alice):
    campaign = ask(benchmark, alice)
    work()
    before = images_of(benchmark)
    people.frames_path(benchmark).unlink()
    Job.objects.filter(kind=people.JOB).update(state="queued")

    work()

    assert images_of(benchmark) == before
    assert campaign.dataset.images.count() == len(set(before.values()))


def test_a_photograph_that_is_gone_fails_the_job_with_a_sentence(benchmark, alice, dataset):
    ask(benchmark, alice)
    Image.objects.filter(dataset=dataset, name="cats/1.png").update(name="moved.png")

    [pk] = Job.objects.filter(kind=people.JOB).values_list("pk", flat=True)
    job = queue.run(pk)

    assert job.state == "failed"
    assert "cats/1.png is no longer in pond" in job.error


def test_asking_twice_or_about_what_is_not_revealed_is_refused(benchmark, alice):
    for fields, field in (
        ({"part_scheme": "E_U"}, "part_scheme"),
        ({"content_scheme": "higher"}, "content_scheme"),
        ({"content_scheme": []}, "content_scheme"),
        ({"votes": 0}, "votes"),
        ({"votes": 26}, "votes"),
        ({"objects": 0}, "objects"),
        ({"vocabulary": ["n99999999"]}, "vocabulary"),
    ):
        with pytest.raises(Refusal) as refused:
            ask(benchmark, alice, **fields)
        assert refused.value.field == field
    assert Benchmark.objects.get(pk=benchmark.pk).naming is None

    ask(benchmark, alice)
    with pytest.raises(Conflict, match="already asked"):
        ask(benchmark, alice)


def test_the_cost_counts_frames_votes_and_the_people_it_takes(benchmark):
    lines = [line for line in benchmarks.lines_of(benchmark) if line.content_scheme == INTRA]
    counts = [len(set(line.frames)) for line in lines]

    cost = people.cost(benchmark, people.asked_of(benchmark, "random", INTRA), 3)
    few = people.cost(benchmark, people.asked_of(benchmark, "random", INTRA, 1), 3)

    assert (cost.objects, cost.sequences, cost.frames) == (len(lines), len(lines), sum(counts))
    assert cost.people == max(counts) * 3
    assert cost.estimate.answers == sum(counts) * 3
    assert (few.objects, few.sequences) == (1, 1)


def test_the_classes_are_those_of_the_benchmark_or_the_researchers(benchmark, alice):
    campaign = ask(benchmark, alice, vocabulary=[CAT, DOG, CAT])

    assert people.default_classes(benchmark) == sorted([CAT, COW])
    assert [entry["key"] for entry in campaign.settings["vocabulary"]] == [CAT, DOG]
    assert campaign.settings["question"] == "What is it?"


def test_no_two_classes_have_one_name(wordnet):
    cranes = ["n02012849", "n03126707"]

    names = {entry["key"]: entry["name"] for entry in class_lists.classes([*cranes, CAT], wordnet)}

    assert names[CAT] == "cat"
    assert names[cranes[0]] == "crane (wading bird)"
    assert names[cranes[1]].startswith("crane (")
    assert len(set(names.values())) == 3


def test_nothing_that_annotators_see_names_the_benchmark(benchmark, alice, bob, client):
    campaign = opened(benchmark, alice)
    person = crowd.people(campaign, 1)[0]
    client.force_login(person)

    page = html_of(client.get(f"/campaigns/{campaign.name}/label/"))

    seats = claiming.open_seats(person, campaign)
    assert "What is it?" in page
    assert seats[0].token in page
    text = page.replace("Cats and", "")
    for word in ("cats", "Cats", "cat-1", INTRA, seats[0].image_name):
        assert word not in text.replace('"name": "cat"', "")


def test_who_drew_an_object_does_not_name_its_frames(benchmark, alice, bob):
    campaign = opened(benchmark, alice)
    factories.join(bob, campaign)

    assert claiming.next_page(bob, campaign).seats == []


def test_people_stand_beside_the_machines_with_the_cds_reckoned_by_hand(
    benchmark, alice, tmp_path: Path
):
    lines = benchmarks.lines_of(benchmark)
    machine = tmp_path / "machine.csv"
    frames = dict.fromkeys(frame for line in lines for frame in line.frames)
    machine.write_text(
        "frame,classifier,wnid\n" + "".join(f"{frame},net,{DOG}\n" for frame in frames)
    )
    benchmarks.add_predictions(benchmark, alice, machine)
    campaign = opened(benchmark, alice, vocabulary=[CAT, COW, DOG])
    cat = next(
        line for line in lines if line.content_scheme == INTRA and line.image == "cats/1.png"
    )
    images = images_of(benchmark)
    last = images[cat.frames[-1]]

    def says(image):
        if image == last:
            return {"key": CAT}
        # Of the others, "none" of the first cat and "hard" of the rest: both name nothing.
        return "none" if image.startswith("cats/1.png") else "hard"

    enough = people.cost(benchmark, people.asked_of(benchmark, "random", INTRA), 1).people
    name_all(campaign, enough, says)
    assert set(campaign.questions.values_list("state", flat=True)) == {"settled", "dropped"}
    run = benchmark.runs.create(requested_by=alice)

    kind = kind_of(benchmark)
    result = kind.score(benchmark, kind.prepare(benchmark, run), run)

    assert result.classifiers == ["net", "people"]
    rows = sequences_of(benchmark, run)
    mine = {
        (row["image"], row["object"]): row["cds"] for row in rows if row["classifier"] == "people"
    }
    count = len(cat.frames)
    weights = [(count - j + 1) / count for j in range(1, count + 1)]
    right = sum(w for w, frame in zip(weights, cat.frames, strict=True) if images[frame] == last)
    assert mine.pop((cat.image, cat.object)) == pytest.approx(1 - right / sum(weights))
    assert set(mine.values()) == {1.0}
    # Only what was asked: the other content scheme is the machine's alone.
    assert {row["content_scheme"] for row in rows if row["classifier"] == "people"} == {INTRA}
    assert {row["content_scheme"] for row in rows if row["classifier"] == "net"} == {INTRA, "low"}
    classifiers = {row.classifier for row in result.tables.by_content_scheme}
    assert classifiers >= {"net", "people"}
    assert not any("not settled" in note for note in result.notes)


def test_a_sequence_with_an_open_frame_is_left_out_and_told(benchmark, alice):
    campaign = opened(benchmark, alice)
    lines = [line for line in benchmarks.lines_of(benchmark) if line.content_scheme == INTRA]
    name_all(campaign, 1, lambda image: {"key": CAT})
    assert people.predictions(benchmark, frames_of(benchmark)) is None
    freezing.freeze(campaign, alice)

    predictions = people.predictions(benchmark, frames_of(benchmark))

    known_frames = {
        frame
        for frame, class_number in predictions.frames.items()
        if predictions.wnids["people"][class_number] != NOT_ASKED
    }
    # One person named one frame of each object.
    assert len(known_frames) >= len(lines)
    assert [
        predictions.classes[class_number]
        for class_number in set(predictions.wnids["people"].tolist())
        if class_number >= 0
    ] == [CAT]
    assert people.notes(benchmark) == [
        f"People were asked about {len(lines)} sequences; {len(lines)} of them have frames that "
        "are not settled yet and are left out of people’s scores."
    ]


def test_what_people_do_not_agree_on_is_named_nothing(benchmark, alice):
    campaign = opened(benchmark, alice, votes=2, objects=1)
    cost = people.cost(benchmark, people.asked_of(benchmark, "random", INTRA, 1), 2)
    answers = iter([{"key": CAT}, {"key": COW}] * cost.people)
    name_all(campaign, cost.people, lambda image: next(answers))
    assert set(campaign.questions.values_list("state", flat=True)) <= {"dropped", "settled"}
    assert not Seat.objects.filter(state="leased", question__campaign=campaign).exists()


def sequences_of(benchmark, run):
    path = folders.run_folder(benchmark, run.pk) / running.SEQUENCES
    return [json.loads(line) for line in path.read_text().splitlines()]


PAGE = "/benchmarks/cats/people/"
FORM = {"part_scheme": ["random"], "content_scheme": [INTRA], "votes": 2, "vocabulary": ""}


def test_the_page_tells_what_it_takes_before_anything_is_made(benchmark, alice, as_alice):
    assert as_alice.get(PAGE).status_code == 200

    page = html_of(as_alice.post(PAGE, FORM | {"check": "1"}))

    cost = people.cost(benchmark, people.asked_of(benchmark, "random", INTRA), 2)
    assert f"<dt>different people at least</dt><dd>{cost.people}</dd>" in page
    assert "cat; cow" in page
    assert Benchmark.objects.get(pk=benchmark.pk).naming is None


def test_the_page_makes_the_campaign_and_says_what_is_next(benchmark, alice, as_alice):
    assert as_alice.post(PAGE, FORM | {"ask": "1", "vocabulary": f"{CAT}\n{DOG}\n"}).url == PAGE
    assert "The frames are being created" in html_of(as_alice.get(PAGE))
    work()
    page = html_of(as_alice.get(PAGE))

    naming = Benchmark.objects.get(pk=benchmark.pk).naming
    assert [entry["key"] for entry in naming.settings["vocabulary"]] == [CAT, DOG]
    assert naming.memberships.get().user == alice
    assert f"/campaigns/{naming.name}/people/" in page
    fragment = html_of(as_alice.get(f"{PAGE}?fragment=1"))
    assert "Invite people" in fragment
    assert "<html" not in fragment
    assert "/benchmarks/cats/" in html_of(as_alice.get(f"/campaigns/{naming.name}/"))
    lifecycle.launch(naming, alice)
    assert "is open" in html_of(as_alice.get(PAGE))


def test_the_page_names_the_field_at_fault(benchmark, alice, as_alice):
    for fields in ({"votes": 0}, {"vocabulary": "cat"}, {"part_scheme": ["E_U"]}):
        answer = as_alice.post(PAGE, FORM | {"ask": "1"} | fields)
        assert answer.status_code == 422
        assert list(answer.context["form"].errors) == list(fields)
    assert Benchmark.objects.get(pk=benchmark.pk).naming is None
