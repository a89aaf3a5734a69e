"""The researcher's pages of quality and of a question graph, full of data, worked by key."""

import uuid

import pytest

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating
from labeling.follow_ups import asking, following, opening
from labeling.graphs import store
from labeling.models import Campaign, Membership, User
from labeling.quality import auditing, blocking, monitoring
from labeling.quality.gold import add_gold
from tests import factories
from tests.browser.conftest import PHOTOGRAPHS, expect, settled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABBY = "n02123045"
# The truth about tabbies is "no" but for every third image; what each of six people makes of it.
CROWD = {
    "careful": lambda index, truth: truth,
    "good": lambda index, truth: truth if index % 9 else "hard",
    "hasty": lambda index, truth: truth if index % 5 else flipped(truth),
    "torn": lambda index, truth: truth if index % 3 else flipped(truth),
    "constant": lambda index, truth: "yes",
    "contrary": lambda index, truth: flipped(truth),
}


def flipped(truth: str) -> str:
    return {"yes": "no", "no": "yes"}[truth]


def truth_of(index: int) -> str:
    return "no" if index % 3 else "yes"


@pytest.fixture
def crowded(cats: Campaign, alice: User) -> Campaign:
    """The campaign of the photographs with a crowd, gold, an audit half done and a block."""
    policy = {"votes": 6, "max_votes": 9, "gold_share": 0.3, "cost_per_hour": 12, "test_cap": 20}
    lifecycle.change_policy(cats, alice, policy | {"gold_action": "none", "signal_answers": 10})
    cats.refresh_from_db()
    names = [f"pond/{number:03}-coot-at-dawn.png" for number in range(60)]
    for number, name in enumerate(names):
        factories.make_image(cats.dataset, name, seed=number * 7)
    asking.add_questions(cats, [(name, TABBY) for name in names[:40]])
    add_gold(
        cats,
        alice,
        [
            {
                "image": name,
                "topic": TABBY,
                # The last one is wrong, as gold that people fail mostly is.
                "answer": flipped(truth_of(40 + index)) if index == 19 else truth_of(40 + index),
                "explanation": "It is a bird." if index % 3 else "",
            }
            for index, name in enumerate(names[40:])
        ],
    )
    places = {name: index for index, name in enumerate(names)}
    for who, says in CROWD.items():
        person = factories.make_user(who, pseudonym=f"annotator-{who}")
        factories.join(person, cats)
        answer(
            person,
            cats,
            lambda name, says=says: says(places.get(name, 1), truth_of(places.get(name, 1))),
        )
    torn = cats.questions.filter(state="settled").order_by("pk").first()
    factories.put(cats, [torn.pk], state="review")
    monitoring.watch_all(cats)
    factories.join(factories.make_user("rita"), cats, "reviewer")
    return cats


def answer(person: User, campaign: Campaign, says) -> None:
    while seats := claiming.next_page(person, campaign).seats:
        mine = person.seats.filter(token__in=[seat.token for seat in seats])
        images = dict(mine.values_list("token", "question__item__image__name"))
        sent = [
            submitting.SubmittedAnswer(
                uuid.uuid4(), seat.token, says(images[seat.token]), 900 + 37 * number
            )
            for number, seat in enumerate(seats)
        ]
        submitting.submit(person, campaign, sent)


def member(campaign: Campaign, name: str) -> Membership:
    return campaign.memberships.get(user__username=name)


def test_pages_of_quality_look_right(page, alice, crowded, site, looked_at):
    auditing.draw(crowded, alice, 20, seed=1)
    for _ in range(14):
        row = auditing.next_for(alice, crowded)
        value = row.settlement.value if row.pk % 6 else flipped(row.settlement.value)
        auditing.answer(row, alice, value)
    auditing.draw(crowded, alice, 10, seed=2, for_gold=True)
    for _ in range(8):
        row = auditing.next_for(alice, crowded)
        auditing.answer(row, alice, "no" if row.pk % 3 else "yes")
    contrary, hasty = member(crowded, "contrary"), member(crowded, "hasty")
    blocking.block(crowded, contrary, alice, "answers the other way round")
    monitoring.pause(hasty, alice, "a word with them first")

    for name, path in {
        "campaign": "",
        "quality": "quality/",
        "people": "people/",
        "person": f"people/{member(crowded, 'constant').pk}/",
        "person-blocked": f"people/{contrary.pk}/",
        "block": f"people/{member(crowded, 'torn').pk}/block/",
        "unblock": f"people/{contrary.pk}/unblock/",
        "pardon": f"people/{hasty.pk}/pardon/",
        "rules": "policy/",
        "settings": "edit/",
        "audit": "audit/",
        "review": "review/",
        "gold": "gold/",
        "releases": "releases/",
    }.items():
        assert page.goto(site(f"/campaigns/cats/{path}")).status == 200, path
        settled(page)
        looked_at(page, f"q-{name}")


def test_empty_pages_of_quality_look_right(page, bob, cats, site, looked_at):
    for name, path in {
        "quality": "quality/",
        "audit": "audit/",
        "person": f"people/{cats.memberships.get(user=bob).pk}/",
    }.items():
        assert page.goto(site(f"/campaigns/cats/{path}")).status == 200, path
        looked_at(page, f"q-empty-{name}")


def test_pages_of_the_graph_look_right(page, alice, cats, site, looked_at):
    dataset = cats.dataset
    det, _ = opening.draft_graph(
        alice, store.load_ilsvrc(), name="det", title="Everything in it", dataset=dataset
    )
    raw = det.graph.content
    raw["nodes"][1]["question"] = "Is there a stethoscope around somebody’s neck?"
    store.define(det, alice, raw)

    for name, path in {
        "graph": "graph/",
        "graph-open": "graph/?open=1",
        "graph-search": "graph/?q=dog",
        "graph-nothing": "graph/?q=unicorn",
        "node": "graph/nodes/leaf-001/",
        "version": "graph/2/",
    }.items():
        assert page.goto(site(f"/campaigns/det/{path}")).status == 200, path
        looked_at(page, f"q-{name}")
    page.goto(site("/campaigns/det/graph/"))
    page.click("text=As a file or as text")
    page.fill("#id_graph", '{"nodes": [{"id": "a", "question": "A?", "parents": ["b"]}]}')
    page.click("text=Use this graph")
    page.wait_for_selector("text=Nothing was changed")
    looked_at(page, "q-graph-faults")


def test_a_campaign_on_ilsvrcs_graph_is_made_with_the_keyboard(page, cats, site, looked_at):
    page.goto(site("/campaigns/new/"))

    page.fill("#id_title", "Everything in it")
    page.select_option("#id_dataset", label=cats.dataset.name)
    page.click("text=Question graph (ILSVRC)")
    assert page.is_hidden("#id_vocabulary")
    assert page.is_hidden("#id_questions")
    page.wait_for_selector(".price, #estimate dl")
    looked_at(page, "q-new")
    page.focus("text=Create draft")
    page.keyboard.press("Enter")
    page.wait_for_url("**/campaigns/everything-in-it/")

    made = Campaign.objects.get(name="everything-in-it")
    assert made.questions.count() == 17 * len(PHOTOGRAPHS)
    page.goto(site("/campaigns/everything-in-it/graph/"))
    page.keyboard.press("/")
    page.keyboard.type("cattle")
    page.keyboard.press("Enter")
    page.wait_for_selector(".found")
    page.keyboard.press("c")
    page.wait_for_selector("text=Open all")
    page.keyboard.press("o")
    page.wait_for_selector("details[open]")


def test_an_audit_is_answered_by_key_and_blind(browser_as, crowded, site):
    rita = User.objects.get(username="rita")
    page = browser_as(rita)
    page.goto(site("/campaigns/cats/audit/"))

    page.fill("#id_n", "3")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=3 settled questions were drawn")
    for count, key in enumerate("ynh", 1):
        assert page.locator(".viewer").inner_text().lower().count("votes") == 0
        page.keyboard.press(key)
        page.wait_for_selector(f"text={count} of 3 answered")

    values = crowded.audits.order_by("answered_at").values_list("value", flat=True)
    assert list(values) == ["yes", "no", "hard"]
    assert page.is_visible("text=All answered")


def test_a_person_is_blocked_and_the_votes_come_back(page, crowded, site):
    torn = member(crowded, "contrary")
    before = list(crowded.questions.order_by("pk").values_list("pk", "state"))
    touched = blocking.count_affected(crowded, torn.user)
    assert touched["answers"] > 0
    page.goto(site("/campaigns/cats/people/"))

    page.click("text=annotator-contrary")
    page.click("text=Block …")
    page.wait_for_selector(f"text={touched['answers']} answers will be void")
    page.fill("#id_reason", "the other way round")
    page.click("button:has-text('Block')")
    page.wait_for_selector("text=is blocked.")
    torn.refresh_from_db()
    assert torn.stage == "blocked"
    assert page.is_visible("text=“the other way round”")
    page.click("text=Lift the block …")
    page.fill("#id_reason", "it was a mix-up")
    page.click("button:has-text('Lift the block')")
    page.wait_for_selector("text=is no longer blocked")

    assert list(crowded.questions.order_by("pk").values_list("pk", "state")) == before


def test_rules_that_would_stop_everybody_are_shown_with_names_first(page, crowded, site, looked_at):
    crowded.memberships.filter(user__username__in=["careful", "good", "bob"]).update(stage="paused")
    crowded.memberships.filter(user__username__in=["hasty", "torn"]).update(stage="paused")
    page.goto(site("/campaigns/cats/policy/"))

    page.select_option("#id_gold_action", "block")
    page.click("text=Save rules")
    page.wait_for_selector("text=These rules would stop every active annotator")
    looked_at(page, "q-rules-everybody")
    assert page.is_visible("th:has-text('annotator-contrary')")
    crowded.refresh_from_db()
    assert crowded.policy.version == 2
    page.click("text=Save anyway and stop everybody")
    page.wait_for_selector("text=Version 3 of the rules")


def test_a_target_is_offered_once_audits_support_one(page, alice, crowded, site, looked_at):
    page.goto(site("/campaigns/cats/policy/"))
    expect(page.locator("#targets + p")).to_contain_text("You cannot set a target error yet")
    expect(page.locator("#id_target_error")).to_have_count(0)
    looked_at(page, "q-rules-no-target")
    auditing.draw(crowded, alice, 20, seed=1)
    while row := auditing.next_for(alice, crowded):
        auditing.answer(row, alice, row.label.value)
    calibrating.calibrate(crowded)

    page.reload()
    expect(page.locator("#targets + p")).to_contain_text("With 20 known answers")
    page.get_by_text("Other targets").click()
    looked_at(page, "q-rules-target")
    page.select_option("#id_method", "posterior")
    page.fill("#id_target_error", "0.1")
    page.select_option("#id_undecided", "keep")
    page.get_by_role("button", name="Save rules").last.click()
    expect(page.get_by_text("The target error 0.1 needs 30")).to_be_visible()
    looked_at(page, "q-rules-target-warned")
    crowded.refresh_from_db()
    policy = crowded.policy.content
    assert (policy["target_error"], policy["target_rule"], policy["undecided"]) == (
        0.1,
        "measured",
        "keep",
    )


def test_a_pilot_is_priced_asked_and_followed(page, crowded, site, looked_at, run_jobs):
    page.goto(site("/campaigns/cats/quality/"))
    page.click("text=Start one")
    page.wait_for_url("**/pilot/")

    page.fill("#id_per_topic", "8")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=questions would get ten votes each")
    looked_at(page, "k-pilot-priced")
    assert not crowded.jobs.filter(kind="pilot").exists()
    page.click("text=Start pilot")
    page.wait_for_selector("text=See progress")
    run_jobs()
    page.reload()
    page.wait_for_selector("text=questions of the pilot finished")
    looked_at(page, "k-pilot")
    page.goto(site("/campaigns/cats/quality/"))
    page.click("text=Recompute reputations")
    page.wait_for_selector("text=Reputations are being recomputed")
    run_jobs()
    page.reload()
    assert page.is_visible("text=(calibration 1")
    looked_at(page, "k-quality")


def test_gold_of_a_question_graph_replaces_an_unanswered_question(page, alice, cats, site):
    det, _ = opening.draft_graph(
        alice, store.load_ilsvrc(), name="det", title="Everything", dataset=cats.dataset
    )
    image = cats.dataset.images.earliest("name").name
    following.open_images(det, [image])

    page.goto(site("/campaigns/det/gold/add/"))
    page.click(f"#picker label:has-text('{image}')")
    page.select_option("#id_topic", "q-bag")
    page.select_option("#id_answer", "no")
    page.click("text=Add it")
    page.wait_for_selector("text=confirm that gold may replace it")
    page.check("#id_replace")
    page.click("text=Add it")

    page.wait_for_selector("text=is gold now.")
    assert det.questions.get(topic="q-bag", item__image__name=image).state == "gold"


def test_pages_say_where_gold_is_missing_or_contradicted(page, alice, cats, site, looked_at):
    det, _ = opening.draft_graph(
        alice, store.load_ilsvrc(), name="det", title="Everything", dataset=cats.dataset
    )
    factories.make_image(cats.dataset, "gold.png")
    known = [("q-bag", "no"), ("leaf-199", "yes")]
    rows = [{"image": "gold.png", "topic": node, "answer": answer} for node, answer in known]
    add_gold(det, alice, rows)
    raw = det.graph.content
    for node in raw["nodes"]:
        if node["id"] == "leaf-199":
            node["parents"] = ["q-bag"]
    store.define(det, alice, raw)
    cap = {"test_cap": 12, "training_questions": 4, "test_questions": 5, "method": "vote-table"}
    lifecycle.change_policy(det, alice, cap)
    for number in range(53):
        person = factories.make_user(f"p{number}", pseudonym=f"worker-{number:03}")
        factories.join(person, det)

    for name, path, words in (
        ("overview", "", "for each newcomer"),
        ("gold", "gold/", "have no gold"),
        ("graph", "graph/", "The graph contradicts 1 known answer"),
        ("rules", "policy/", "cannot reach the error rates"),
        ("people", "people/?page=2", "Page 2 of 2"),
    ):
        page.goto(site(f"/campaigns/det/{path}"))
        page.wait_for_selector(f"text={words}")
        looked_at(page, f"k-{name}")
