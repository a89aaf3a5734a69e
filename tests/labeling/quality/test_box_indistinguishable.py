"""Nothing that a person is sent of boxes tells gold from the rest.

As test_indistinguishable.py does it, with a crowd that draws, checks and looks for more in chains:
Bob labels through the site's own doors, and what comes with gold is held against what comes
without, step by step.
"""

import json
import random
import uuid
from collections import defaultdict

import pytest
from django.test import Client
from django.urls import reverse

from labeling.assignment import claiming, gold_mixing
from labeling.boxes import shaking
from labeling.boxes.cleaning import as_box, holds
from labeling.follow_ups import asking, following
from labeling.geometry.boxes import iou
from labeling.models import Question, Seat
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import DOG
from tests.labeling.quality.test_indistinguishable import Diary, headers_of, normal, shape

pytestmark = pytest.mark.django_db
PAIRS, GOLD, OBJECTS, SIZE = 60, 60, (1, 4), (64, 48)


class World:
    """Where the objects of each image are, and what somebody careful says, now and then wrongly."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.objects = defaultdict(list)
        for number in range(PAIRS + GOLD):
            for index in range(source.randint(*OBJECTS)):
                x, y = 2 + 15 * index, source.uniform(2, 20)
                box = (x, y, x + source.uniform(9, 13), y + source.uniform(9, 22))
                self.objects[f"{number}.png"].append(tuple(round(side, 1) for side in box))

    def says(self, question: Question) -> object:
        content, objects = question.content or {}, self.objects[question.item.image.name]
        boxed = [as_box(box) for box in content.get("boxes", ())]
        left = [target for target in objects if all(iou(target, box) < 0.5 for box in boxed)]
        if question.step == "check":
            best = max(objects, key=lambda box: iou(box, content["box"]))
            good = iou(best, content["box"]) > 0.75 and self.source.random() < 0.9
            if good:
                return "good"
            sides = [shaking.worst_side(as_box(content["box"]), best)]
            pointed = sides if self.source.random() < 0.5 else []
            return {"reason": shaking.reason(as_box(content["box"]), best), "sides": pointed}
        if question.step == "cover":
            if left and self.source.random() < 0.9:
                return {"missing": [shaking.point(left[0], self.source)]}
            return "complete" if self.source.random() < 0.9 else {"missing": [[32.0, 40.0]]}
        aimed = [box for box in left if "at" in content and holds(box, content["at"])]
        if not left or ("at" in content and not aimed):
            return "none"
        box = shaking.good((aimed or left)[0], *SIZE, self.source)
        if self.source.random() < 0.15:
            box = shaking.bad((aimed or left)[0], *SIZE, self.source) or box
        return boxers.box(list(box))


class Visit:
    """Bob's way through the campaign."""

    def __init__(self, campaign, user, crowd, world, diary):
        self.campaign, self.user, self.crowd = campaign, user, crowd
        self.world, self.diary, self.source = world, diary, world.source
        self.client = Client()
        self.client.force_login(user)

    def note(self, token, kind, value):
        self.diary.entries[kind].append((self.campaign.name, token, value))

    def post(self, door, **body):
        address = reverse(door, args=[self.campaign.name])
        return self.client.post(
            address, {**body, "user": self.user.pk}, content_type="application/json"
        )

    def run(self):
        while seats := self.page():
            for seat in seats:
                self.answer(seat["seat"], seat["shows"]["step"])
            self.others_work()

    def page(self):
        page = self.post("label_page").json()
        for seat in page["seats"]:
            token, shows = seat["seat"], seat["shows"]
            step = shows["step"]
            self.note(token, "step", step)
            self.note(token, f"{step}: keys", (tuple(seat), tuple(shows)))
            self.note(token, f"{step}: seat", shape(json.dumps({**seat, "shows": None})))
            self.note(token, f"{step}: came, flags", (shows.get("came"), str(shows.get("flags"))))
            self.note(token, f"{step}: rejected", str(sorted(shows.get("rejected", {}))))
            for key in ("boxes", "box", "at"):
                text = json.dumps(shows.get(key))
                self.note(token, f"{step}: {key} on tenths", shape(text.split(",")[0]))
            if self.source.random() < 0.3:
                address = reverse("label", args=[self.campaign.name])
                html = self.client.get(f"{address}?seat={token}")
                self.note(token, f"{step}: html", (html.status_code, headers_of(html)))
                image = self.client.get(seat["image"])
                self.note(token, f"{step}: image", (image.status_code, headers_of(image)))
        return page["seats"]

    def send(self, token, step, when, value, pk=None):
        pk = pk or str(uuid.UUID(int=self.source.getrandbits(128)))
        sent = {"id": pk, "seat": token, "value": value, "duration_ms": 900}
        response = self.post("label_answers", answers=[sent])
        [result] = response.json()["results"]
        response_parts = (response.status_code, headers_of(response), normal(json.dumps(result)))
        self.note(token, f"{step}: answer {when}", response_parts)
        return pk

    def answer(self, token, step):
        question = Seat.objects.get(token=token).question
        if self.source.random() < 0.1:
            skip = self.post("label_skip", seat=token)
            self.note(token, f"{step}: skip", (skip.status_code, normal(skip.content.decode())))
            return
        if self.source.random() < 0.2:
            self.send(token, step, "that is none", "perhaps")
        value = self.world.says(question)
        pk = self.send(token, step, "first", value)
        if self.source.random() < 0.3:
            self.send(token, step, "again", value, pk)
        if self.source.random() < 0.3:
            self.send(token, step, "revised", self.world.says(question))

    def others_work(self):
        for person in self.crowd:
            for seat in claiming.next_page(person, self.campaign, 2).seats:
                boxers.answer(
                    person, seat, self.world.says(Question.objects.get(pk=seat.question_id))
                )
            following.advance(self.campaign)


@pytest.fixture
def labeled(monkeypatch, alice, bob, dataset):
    """Bob labels in a campaign of boxes, among five others; what he was sent."""
    source = random.Random(2015)
    monkeypatch.setattr(gold_mixing, "chance", source)
    monkeypatch.setattr(claiming, "new_token", lambda: f"{source.getrandbits(128):032x}")
    world = World(source)
    for number in range(PAIRS + GOLD):
        factories.make_image(dataset, f"{number}.png", seed=number % 2)
    campaign = boxers.make(alice, dataset, images=0, policy={"gold_share": 0.4, "page_size": 2})
    asking.add_questions(campaign, [(f"{number}.png", DOG) for number in range(PAIRS)])
    golden = [f"{number}.png" for number in range(PAIRS, PAIRS + GOLD)]
    add_gold(
        campaign,
        alice,
        [
            {"image": name, "topic": DOG, "answer": list(map(list, world.objects[name]))}
            for name in golden
        ],
    )
    type(campaign).objects.filter(pk=campaign.pk).update(state="open")
    campaign.refresh_from_db()
    factories.join(bob, campaign)
    diary = Diary()
    crowd = boxers.people(campaign)
    Visit(campaign, bob, crowd, world, diary).run()
    seats = Seat.objects.filter(annotator=bob, question__state="gold")
    diary.golden = set(seats.values_list("token", flat=True))
    return diary


@pytest.mark.ci
def test_nothing_that_is_sent_of_boxes_tells_gold(labeled):
    assert labeled.signs() == []
    tokens = {token for _, token, _ in labeled.entries["step"]}
    steps = {step for _, token, step in labeled.entries["step"] if token in labeled.golden}
    assert steps == {"draw", "check", "cover"}
    assert len(tokens) > 60
    assert 0.1 < len(labeled.golden & tokens) / len(tokens) < 0.6
