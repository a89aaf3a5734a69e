"""Nothing that a person is sent tells gold from the rest.

Random campaigns are labeled through the site's own doors by somebody who answers, changes their
mind, is refused, skips, lets leases run out and comes back, while others fill the seats. Everything
sent is written down by seat, and then held against which questions were gold: no value of anything
may come more or less often with gold than chance allows. Which questions are gold is drawn again
for each campaign, among questions that are alike in every other way.
"""

import json
import random
import re
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from scipy.stats import hypergeom

from labeling.answers import submitting
from labeling.assignment import claiming, gold_mixing
from labeling.campaigns import lifecycle
from labeling.follow_ups import asking, following
from labeling.graphs import store
from labeling.models import Answer, Gold, Question, Seat
from tests import factories
from tests.labeling import hierarchies
from tests.labeling.crowd import vote

# So unlikely by chance is what is taken for a sign of gold. Thousands of values are looked at, but
# all that is drawn comes from one seed: a run that passes, passes always.
CHANCE = 1e-4
VALUES = {"contains": ["yes", "no", "hard", "not_photo"], "hierarchy": ["yes", "no", "hard"]}
QUESTIONS = 112
# What differs with every request and every seat, whatever stands behind it.
RANDOM_TEXT = re.compile(
    r"(?<=\?s=)[\w:.-]+|\b[0-9a-f]{32}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|(?<=name=\"csrfmiddlewaretoken\" value=\")\w+"
)


@dataclass
class Diary:
    """What was sent about each seat: {what: [(campaign, token, value)]}, and the golden tokens."""

    entries: dict = field(default_factory=lambda: defaultdict(list))
    golden: set = field(default_factory=set)

    def signs(self) -> list[tuple[str, object, float]]:
        """Each value of anything that gold has more or less often than chance allows."""
        signs = []
        for kind, entries in self.entries.items():
            # By campaign, since in each another part of the seats was gold.
            counts = defaultdict(lambda: (Counter(), Counter()))
            for campaign, token, value in entries:
                counts[campaign][token in self.golden][value] += 1
            for value in {value for _, _, value in entries}:
                odds = odds_of(value, counts.values())
                if odds < CHANCE:
                    signs.append((kind, value, odds))
        return signs


def odds_of(value, counts) -> float:
    """How likely, were gold no different, are so many gold seats with this value, or so few.

    counts: how often each value came, (ordinary, gold), by campaign. Exact: hypergeometric within
    a campaign, added up over campaigns.
    """
    distribution, seen = np.ones(1), 0
    for ordinary, gold in counts:
        golden, having = gold.total(), ordinary[value] + gold[value]
        seen += gold[value]
        support = np.arange(min(golden, having) + 1)
        total = golden + ordinary.total()
        distribution = np.convolve(distribution, hypergeom(total, golden, having).pmf(support))
    return float(min(distribution[seen:].sum(), distribution[: seen + 1].sum()))


class Visit:
    """One person's way through one campaign, by the site's doors."""

    def __init__(self, campaign, user, others, diary, source, looking):
        self.campaign, self.user, self.others = campaign, user, others
        self.diary, self.source, self.looking = diary, source, looking
        self.client = Client()
        self.client.force_login(user)
        self.images: dict[str, str] = {}
        self.gone: set[str] = set()
        self.back: Counter[str] = Counter()
        self.rows: set[tuple[str, object]] = set()
        self.left = None
        self.since = 0

    def note(self, token, kind, value):
        self.diary.entries[kind].append((self.campaign.name, token, value))

    def post(self, door, **body):
        address = reverse(door, args=[self.campaign.name])
        body |= {"user": self.user.pk}
        return self.client.post(address, body, content_type="application/json")

    def run(self):
        while tokens := self.page():
            mood = self.source.random()
            if mood < 0.3:
                self.lapse(tokens)
            elif mood < 0.45:
                self.skip(tokens)
            else:
                self.answer(tokens)
            self.others_work()
            self.flag(tokens[0])
            self.last()
        for token in self.gone:
            self.note(token, "came back", token in self.back)
            self.note(token, "came back so often", self.back[token])

    def flag(self, token):
        """What becomes of a flag on an image, held, answered or gone."""
        if self.source.random() < 0.3:
            key = str(uuid.UUID(int=self.source.getrandbits(128)))
            response = self.post("label_flag", id=key, seat=token, note="Blurred.")
            text = normal(response.content.decode())
            self.note(token, "flag", (response.status_code, headers_of(response), text))

    def last(self):
        """The person's last answers: what is said of each, and whether it may change."""
        if self.source.random() < 0.3:
            rows = self.client.get(reverse("label_last", args=[self.campaign.name])).context["rows"]
            for index, row in enumerate(rows):
                changes = (row.words, row.image is not None)
                # A row stays for many pages: what was seen of it once is no further sign.
                if (row.token, changes) not in self.rows:
                    self.rows.add((row.token, changes))
                    self.note(row.token, "last: may change", changes)
                    self.note(row.token, "last: topic", row.topic)
                if index == 0:
                    self.note(row.token, "last: the latest", row.image is not None)

    def page(self) -> list[str]:
        often = self.source.random() < 0.5
        html = self.client.get(reverse("label", args=[self.campaign.name])) if often else None
        response = self.post("label_page")
        page = response.json()
        tokens = [seat["seat"] for seat in page["seats"]]
        topics = Counter(seat["topic"] for seat in page["seats"])
        for index, seat in enumerate(page["seats"]):
            token = seat["seat"]
            self.images[token] = seat["image"]
            self.note(token, "page: headers", headers_of(response))
            self.note(token, "page: place", (len(tokens), index))
            if len(tokens) > 1:
                self.note(token, "page: first or last", (index == 0, index == len(tokens) - 1))
            self.note(token, "page: keys", (tuple(page), tuple(seat)))
            self.note(token, "page: seat", normal(json.dumps(seat)))
            self.note(token, "page: bytes", len(json.dumps(seat)))
            self.note(token, "page: topic", seat["topic"])
            self.note(token, "page: alone in its topic", topics[seat["topic"]] == 1)
            self.note(token, "page: known", token in self.gone)
            if html and index == 0:
                self.note(token, "html: first", self.html(html))
        if self.left is not None:
            # Beside what was answered: a page of one seat would tell of each.
            fell = self.left - page["left"] - len(self.since)
            for token in self.since:
                self.note(token, "left fell after", fell)
            for token in tokens if self.since else []:
                self.note(token, "left fell before", fell)
        self.back.update(self.gone & set(tokens))
        self.left, self.since = page["left"], []
        return tokens

    def html(self, response):
        return response.status_code, headers_of(response), shape(response.content.decode())

    def look(self, tokens, when):
        """The images of seats, and the page that goes back to each."""
        for token in tokens if self.looking else ():
            # Much of the time goes by here, and what there is to see shows in a part of them.
            glance = self.source.random()
            if glance > 0.5:
                continue
            response = self.client.get(self.images[token])
            self.note(token, f"image {when}", (response.status_code, headers_of(response)))
            if glance > 0.2:
                continue
            address = reverse("label", args=[self.campaign.name])
            response = self.client.get(f"{address}?seat={token}")
            self.note(token, f"html {when}", self.html(response))

    def send(self, tokens, when, value=None, pks=None):
        """What becomes of an answer for each seat; their ids."""
        pks = pks or [str(uuid.UUID(int=self.source.getrandbits(128))) for _ in tokens]
        values = [value or self.source.choice(VALUES[self.campaign.kind]) for _ in tokens]
        methods = [self.source.choice(Answer.InputMethod.values) for _ in tokens]
        answers = [
            {
                "id": pk,
                "seat": token,
                "value": chosen_value,
                "duration_ms": 900,
                "input_method": method,
            }
            | {"language": self.source.choice(["en-gb", "de", "zh-hans"])}
            for pk, token, chosen_value, method in zip(pks, tokens, values, methods, strict=True)
        ]
        response = self.post("label_answers", answers=answers)
        for token, result in zip(tokens, response.json()["results"], strict=True):
            self.note(token, f"answer {when}", (response.status_code, normal(json.dumps(result))))
            self.note(token, f"answer {when}: headers", headers_of(response))
        return pks

    def answer(self, tokens):
        if self.source.random() < 0.3:
            self.look(tokens, "before")
        if self.source.random() < 0.3:
            self.send(tokens, "that is none", "perhaps")
        pks = self.send(tokens, "first", "yes")
        self.since = tokens
        if self.source.random() < 0.3:
            self.send(tokens, "again", "yes", pks)
            self.send(tokens, "in conflict", "no", pks)
        if self.source.random() < 0.5:
            self.send(tokens, "revised", "no")
        self.others_work()
        if self.source.random() < 0.5:
            self.look(tokens, "after")
            self.send(tokens, "revised when others have settled it", "hard")
        else:
            mine = Answer.objects.filter(assignment__annotator=self.user)
            mine.update(created_at=F("created_at") - timedelta(minutes=30))
            self.look(tokens, "long after")
            self.send(tokens, "revised too late, or not")
        for token in tokens[:2]:
            response = self.post("label_skip", seat=token)
            text = normal(response.content.decode())
            self.note(token, "skip of an answered one", (response.status_code, text))

    def skip(self, tokens):
        skipped = [token for token in tokens if self.source.random() < 0.5] or tokens
        for token in skipped:
            for _ in range(2):
                response = self.post("label_skip", seat=token)
                text = normal(response.content.decode())
                self.note(token, "skip", (response.status_code, headers_of(response), text))
        self.gone |= set(skipped)
        self.look(skipped, "skipped")

    def lapse(self, tokens):
        """The leases run out; some of the answers come all the same, when others have been."""
        held = Seat.objects.filter(annotator=self.user, state="leased")
        held.update(leased_until=timezone.now() - timedelta(minutes=1))
        if self.source.random() < 0.3:
            # Not yet swept: a reload makes the leases new.
            assert set(tokens) <= set(self.page())
            return
        claiming.return_expired()
        self.others_work()
        self.look(tokens, "lapsed")
        late = [token for token in tokens if self.source.random() < 0.5]
        if late:
            self.send(late, "late")
            self.send(late, "late, revised")
            self.look(late, "late")
        self.gone |= set(tokens) - set(late)

    def others_work(self):
        for person in self.others:
            if self.source.random() < 0.4:
                vote(person, self.campaign)


def normal(text):
    return RANDOM_TEXT.sub("…", text)


def shape(html):
    """A page without what is random and without its numbers."""
    return re.sub(r"\d+", "0", normal(html))


def headers_of(response):
    """Names and values in their order; the length and the clock differ for every page."""
    varying = ("Content-Length", "Expires")
    headers = response.headers.items()
    return tuple((key, "" if key in varying else normal(value)) for key, value in headers)


def make_campaign(number, source, alice, dataset):
    """A campaign of any kind, policy and order, with gold drawn from among its questions."""
    kind = (
        source.choice(["contains", "hierarchy"])
        if number > 1
        else ["contains", "hierarchy"][number]
    )
    campaign = factories.make_campaign(
        alice,
        dataset,
        f"any{number}",
        kind=kind,
        policy={
            "votes": source.choice([1, 2, 3]),
            "page_size": [1, 8, 4][number % 3],
            "gold_share": source.choice([0.3, 0.5]),
            # Nobody here shall be stopped.
            "gold_action": "none",
            "revise_minutes": source.choice([0, 10]),
            "revise_answers": source.choice([0, 2, 20]),
        },
        launch=False,
    )
    names = [f"{index:03}.png" for index in range(QUESTIONS)]
    topics = hierarchies.ROOTS
    if kind == "hierarchy":
        store.define(campaign, alice, hierarchies.GRAPH)
        following.open_images(campaign, names[: QUESTIONS // len(topics)])
    else:
        lifecycle.define_topics(campaign, [{"key": key, "name": key} for key in topics])
        among = topics[: source.choice([1, 4])]
        pairs = [(name, source.choice(among)) for name in names]
        if source.random() < 0.5:
            pairs.sort(key=lambda pair: pair[1])
        asking.add_questions(campaign, pairs)
    golden = source.sample(list(campaign.questions.order_by("ticket")), QUESTIONS // 3)
    Question.objects.filter(pk__in=[question.pk for question in golden]).update(
        state="gold", lane=2, seats_free=1
    )
    Gold.objects.bulk_create(
        [Gold(question=question, answer=source.choice(["yes", "no"])) for question in golden]
    )
    lifecycle.launch(campaign, alice)
    return campaign


@pytest.fixture
def labeled(monkeypatch, alice, bob, dataset):
    """Labels a number of campaigns and returns the diary of what Bob was sent."""
    source = random.Random(2015)
    monkeypatch.setattr(gold_mixing, "chance", source)
    monkeypatch.setattr(claiming, "new_token", lambda: f"{source.getrandbits(128):032x}")
    for index in range(QUESTIONS):
        # Pictures of one size in bytes, as like as they can be.
        factories.make_image(dataset, f"{index:03}.png", seed=index % 2)
    others = [factories.make_user(name) for name in ("carol", "dave")]

    def label(count, looking=True):
        diary = Diary()
        for number in range(count):
            campaign = make_campaign(number, source, alice, dataset)
            for person in (bob, *others):
                factories.join(person, campaign)
            Visit(campaign, bob, others, diary, source, looking).run()
        seats = Seat.objects.filter(annotator=bob, question__state="gold")
        diary.golden = set(seats.values_list("token", flat=True))
        return diary

    return label


@pytest.mark.parametrize("campaigns", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.ci
def test_nothing_that_is_sent_tells_gold(labeled, campaigns):
    diary = labeled(campaigns)

    assert diary.signs() == []
    # It was looked at from all sides, and gold was there.
    assert len(diary.entries) > 45
    tokens = {token for _, token, _ in diary.entries["page: place"]}
    assert len(tokens) > 45 * campaigns
    assert 0.2 < len(diary.golden & tokens) / len(tokens) < 0.5


def refuse_late_gold(monkeypatch):
    accept = submitting._accept

    def choosy(batch, sent):
        seat = batch.seats.get(sent.seat)
        if seat and seat.state == "returned" and seat.question_id not in batch.questions:
            raise submitting._refusal("conflict")
        return accept(batch, sent)

    monkeypatch.setattr(submitting, "_accept", choosy)


def count_ordinary_questions_alone(monkeypatch):
    next_page = claiming.next_page

    def exact(user, campaign, size=None, **more):
        seats = next_page(user, campaign, size, **more).seats
        free = Question.objects.filter(campaign=campaign, state="open", seats_free__gt=0)
        ahead = free.exclude(seats__annotator=user).count()
        share = campaign.policy.content["gold_share"]
        return claiming.SeatsPage(seats, len(seats) + round(ahead / (1 - share)))

    monkeypatch.setattr(claiming, "next_page", exact)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "sign"),
    [(refuse_late_gold, "answer late"), (count_ordinary_questions_alone, "left fell before")],
)
def test_a_fault_that_tells_gold_is_seen(labeled, monkeypatch, fault, sign):
    fault(monkeypatch)

    # Neither shows in an image or a page that is looked at again.
    signs = labeled(3, looking=False).signs()

    assert sign in {kind for kind, _, _ in signs}
