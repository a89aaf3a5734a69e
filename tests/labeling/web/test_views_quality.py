"""What the researcher's pages say of quality, and what they do about people."""

import re
from dataclasses import replace

import pytest

from labeling.campaigns import lifecycle
from labeling.graphs import store
from labeling.kinds import policies
from labeling.models import Answer, Campaign, Decision, Membership, Question, Settlement, User
from labeling.quality import auditing, monitoring
from labeling.quality.gold import add_gold
from labeling.reports import progress, quality_page
from labeling.web.forms.policy import GROUPS, LABELS, PolicyForm
from tests import factories
from tests.clients import logged_in, text_of, upload
from tests.labeling import boxers, hierarchies
from tests.labeling.crowd import answer_pages, crowd, give, make_gold

COOT = "n02018207"


def member(campaign: Campaign, user: User) -> Membership:
    return campaign.memberships.get(user=user)


def golden(campaign: Campaign, owner: User, count: int, answer: str = "yes") -> None:
    rows = []
    for number in range(count):
        factories.make_image(campaign.dataset, f"gold/{number:03}.png")
        rows.append({"image": f"gold/{number:03}.png", "topic": COOT, "answer": answer})
    add_gold(campaign, owner, rows)


# Figures


def test_figures_of_nothing_are_none(coots):
    assert quality_page.figures(coots) == quality_page.QualityFigures(
        decided=0, sampled=0, alpha=None, votes=None, histogram=[], abstained=None, disputed=[]
    )


def test_figures_count_votes_and_name_the_most_divided_first(coots):
    crowd(coots, ["yes", "yes", "yes", "no", "hard"])
    split = coots.questions.order_by("pk").first()
    last = split.seats.get(annotator__username="crowd2").answers.get()
    type(last).objects.filter(pk=last.pk).update(value="no")

    figures = quality_page.figures(coots)

    assert (figures.decided, figures.sampled, figures.votes) == (6, 6, 5.0)
    assert figures.abstained == pytest.approx(1 / 5)
    assert figures.histogram == [quality_page.VoteBar(5, 6, 1.0)]
    assert figures.disputed[0] == split.pk
    assert len(figures.disputed) == 6
    # By hand: 23 pairable... every question has 4 votes; five of them 3:1, one 2:2.
    observed = (5 * 6 + 8) / 3
    yes, no = 17, 7
    assert figures.alpha == pytest.approx(1 - 23 * observed / (24**2 - yes**2 - no**2))


def test_a_sample_is_about_as_large_as_asked_and_always_the_same(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=1)
    image = campaign.questions.get()
    Question.objects.bulk_create(
        Question(
            campaign=campaign,
            item_id=image.item_id,
            topic=f"t{number}",
            ticket=number,
            state="settled",
            policy=campaign.policy,
        )
        for number in range(2_000)
    )

    first, again = (quality_page.sample(campaign, 2_000, 200) for _ in range(2))

    assert first == again
    assert 150 <= len(first) <= 250
    # Spread over all of them, not their beginning.
    assert max(first) - min(first) > 1_800


def test_a_page_of_quality_reads_no_more_for_more_questions(
    desk, alice, dataset, django_assert_max_num_queries
):
    counts = []
    for number, images in enumerate((4, 40)):
        campaign = factories.make_campaign(
            alice, dataset, f"c{number}", images=images, policy={"votes": 2}
        )
        for person in range(2):
            user = factories.make_user(f"u{number}{person}")
            factories.join(user, campaign)
            answer_pages(user, campaign, "yes" if person else "no", 3)
        desk.get(f"/campaigns/c{number}/quality/")
        with django_assert_max_num_queries(45) as queries:
            text_of(desk.get(f"/campaigns/c{number}/quality/"))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_page_shows_agreement_and_the_audited_error(desk, coots, alice):
    crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    auditing.draw(coots, alice, 4, seed=1)
    for value in ("yes", "yes", "yes", "no"):
        auditing.answer(auditing.next_for(alice, coots), alice, value)

    page = text_of(desk.get("/campaigns/coots/quality/"))

    assert "4 settled questions were drawn at random" in page
    assert "1 was wrong" in page
    wrong = coots.audits.get(value="no").question_id
    contradicted = page.partition("Labels that the audit contradicts")[2].partition("</details>")[0]
    assert contradicted.count(f"/questions/{wrong}/thumbnail") == 1
    assert contradicted.count("<li>") == 1
    assert 'audited <span class="badge no">No</span>' in contradicted
    assert "<strong>25.0 %</strong>" in page
    # Less than chance: whoever contradicts does so always. 1 - 29 * (6 * 8 / 4) / (30² - 24² - 6²).
    assert '">-0.21 <small>worse than chance</small>' in page
    overview = text_of(desk.get("/campaigns/coots/"))
    assert "agreement (Krippendorff’s alpha)" in overview
    assert "label error" in overview
    assert "not measured" not in overview


def test_the_page_prints_the_error_on_gold_by_how_answers_were_given(desk, client, coots, alice):
    lifecycle.change_policy(coots, alice, {"gold_action": "none", "gold_share": 0.5})
    golden(coots, alice, 2)
    crowd(coots, ["no", "yes"], pages=3)
    assert "how answers were given" not in text_of(desk.get("/campaigns/coots/quality/"))
    Answer.objects.filter(value="no").update(input_method="swipe")
    Answer.objects.filter(value="yes").update(input_method="key")

    page = text_of(desk.get("/campaigns/coots/quality/"))

    table = page.partition("Error on gold by input method")[2].partition("</table>")[0]
    rows = re.findall(r'row">(\w+)<.*?>(\d+)</td>.*?>(\d+)</td>.*?>([\d.]+ %)</td>', table)
    assert rows == [("Key", "2", "0", "0.0 %"), ("Swipe", "2", "2", "100.0 %")]
    reviewer = factories.make_user("rita")
    factories.join(reviewer, coots, role="reviewer")
    client.force_login(reviewer)
    assert "how answers were given" not in text_of(client.get("/campaigns/coots/quality/"))


def test_the_page_prints_the_error_on_gold_by_language(desk, coots, alice):
    lifecycle.change_policy(coots, alice, {"gold_action": "none", "gold_share": 0.5})
    golden(coots, alice, 2)
    crowd(coots, ["no", "yes"], pages=3)
    assert "Error on gold by language" not in text_of(desk.get("/campaigns/coots/quality/"))
    Answer.objects.filter(value="no").update(language="de")
    Answer.objects.filter(value="yes").update(language="en-gb")

    page = text_of(desk.get("/campaigns/coots/quality/"))

    table = page.partition("Error on gold by language")[2].partition("</table>")[0]
    rows = re.findall(r'row" lang="[\w-]+">(\w+)<.*?>(\d+)</td>.*?>(\d+)</td>', table)
    assert rows == [("English", "2", "0"), ("Deutsch", "2", "2")]
    assert "Agreement within and across languages" in page


def test_gold_that_fails_is_shown_with_its_picture_and_retired_from_there(desk, coots, alice):
    lifecycle.change_policy(coots, alice, {"gold_action": "none", "gold_share": 0.5})
    golden(coots, alice, 2)
    crowd(coots, ["no", "no"], pages=3)

    page = text_of(desk.get("/campaigns/coots/quality/"))

    gold = coots.questions.filter(state="gold").order_by("pk").first()
    assert "2 of 2 annotators wrong" in page
    assert f"/datasets/pond/images/{gold.item.image_id}/thumbnail" in page
    back = desk.post(f"/campaigns/coots/gold/{gold.pk}/retire/", {"next": "quality"})
    assert back["Location"] == "/campaigns/coots/quality/"
    gold.gold.refresh_from_db()
    assert gold.gold.retired_at is not None


def test_a_campaigns_own_page_says_to_its_researchers_that_gold_is_too_little(desk, coots, alice):
    vera = factories.make_user("vera")
    factories.join(vera, coots, "reviewer")
    golden(coots, alice, 3)
    lifecycle.change_policy(coots, alice, {"test_questions": 5, "test_attempts": 1})

    assert "Training and test need 5 gold questions" in text_of(desk.get("/campaigns/coots/"))
    desk.force_login(vera)
    assert "gold questions for each newcomer" not in text_of(desk.get("/campaigns/coots/"))


def test_the_page_of_gold_names_the_graphs_questions_that_have_none(desk, alice, dataset):
    campaign = hierarchies.make(alice, dataset)
    factories.make_image(dataset, "gold.png")
    add_gold(campaign, alice, [{"image": "gold.png", "topic": "lamp", "answer": "yes"}])

    page = text_of(desk.get("/campaigns/home/gold/"))

    assert "8 of the graph’s questions have no gold" in page
    missing = page.partition("have no gold")[2].partition("</details>")[0]
    assert "an oven" in missing
    assert "a lamp" not in missing


def test_rules_that_cannot_keep_their_error_rates_say_so_before_they_are_saved(desk, coots):
    warning = "cannot reach the error rates that you set"
    assert warning not in text_of(desk.get("/campaigns/coots/policy/"))

    page = text_of(desk.post("/campaigns/coots/policy/", rules(test_cap=12) | {"preview": "1"}))

    assert warning in page
    assert "With at most 12 gold questions" in page
    assert "Raise this maximum" in page


def test_the_page_of_gold_says_when_newcomers_need_more_of_it(desk, coots, alice):
    assert "gold questions for each newcomer" not in text_of(desk.get("/campaigns/coots/gold/"))
    golden(coots, alice, 3)
    rules = {"training_questions": 4, "test_questions": 2, "test_attempts": 1}
    lifecycle.change_policy(coots, alice, rules)

    page = text_of(desk.get("/campaigns/coots/gold/"))

    assert "Training and test need 6 gold questions for each newcomer" in page
    assert "has 3: training has 1 question and the test 2" in page


def test_the_page_of_gold_names_what_a_changed_graph_contradicts(desk, alice, dataset):
    campaign = hierarchies.make(alice, dataset)
    factories.make_image(dataset, "gold.png")
    known = [("animal", "no"), ("lamp", "yes")]
    rows = [{"image": "gold.png", "topic": node, "answer": answer} for node, answer in known]
    add_gold(campaign, alice, rows)
    assert "The graph contradicts" not in text_of(desk.get("/campaigns/home/gold/"))
    nodes = [
        {**node, "parents": ["animal"]} if node["id"] == "lamp" else node
        for node in hierarchies.GRAPH["nodes"]
    ]
    store.define(campaign, alice, {"name": "home", "nodes": nodes})
    assert "The graph contradicts 1 known answer, which" in text_of(
        desk.get("/campaigns/home/graph/")
    )

    page = text_of(desk.get("/campaigns/home/gold/"))

    assert "The graph contradicts 1 known answer<" in page
    assert "lamp is yes, but animal, above it, is no" in page


def test_a_reviewer_sees_disputes_but_no_gold_and_no_people(coots, alice):
    golden(coots, alice, 1)
    crowd(coots, ["yes", "no", "no", "no", "no"])
    vera = factories.make_user("vera")
    factories.join(vera, coots, "reviewer")
    client = logged_in(vera)

    page = text_of(client.get("/campaigns/coots/quality/"))

    assert "Most disputed" in page
    assert "Gold questions that most annotators get wrong" not in page
    assert "standing" not in page


def test_a_target_is_asked_for_only_where_one_was_set_or_is_supported(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=1)
    client = logged_in(alice)

    page = text_of(client.get("/campaigns/coots/policy/"))
    assert "You cannot set a target error yet" in page
    assert "Error to compare with the target" not in page
    rules = {**policies.for_campaign(campaign), "votes": 7, "target_error": "", "max_votes": 9}
    assert client.post("/campaigns/coots/policy/", rules).status_code == 302
    campaign.refresh_from_db()
    stored = campaign.policy.content
    assert (stored["votes"], stored["target_error"], stored["target_rule"]) == (7, None, "measured")

    lifecycle.change_policy(campaign, alice, {"target_error": 0.05, "target_rule": "model"})
    page = text_of(client.get("/campaigns/coots/policy/"))
    assert "Error to compare with the target" in page
    assert "You cannot set a target error yet" not in page


# What is still to come


def test_the_cost_to_come_counts_what_voting_will_still_ask_for(alice, dataset):
    policy = {"method": "posterior", "max_votes": 9, "target_error": 0.1}
    campaign = factories.make_campaign(alice, dataset, images=4, policy=policy)
    first = campaign.questions.order_by("pk").first()
    factories.put(campaign, [first.pk], state="settled", seats_free=0)
    Settlement.objects.create(
        question=first, policy=campaign.policy, value="yes", answers=["a", "b", "c", "d"]
    )

    # Two seats of each open question, and two more as the settled one took.
    assert progress.progress(campaign).answers_left == 3 * 2 + 3 * 2


# Rules


def test_every_rule_has_a_group_and_words():
    grouped = [key for group in GROUPS for key in (*group.keys, *group.rare)]

    keys = [key for rules in policies.RULES_OF.values() for key in rules]
    assert sorted(grouped) == sorted([*policies.DEFAULTS, *keys])
    assert set(LABELS) == {*policies.DEFAULTS, *keys}
    assert not PolicyForm(policies.DEFAULTS).errors


def rules(**changes) -> dict:
    return {**policies.DEFAULTS, **changes}


@pytest.fixture
def wrong(coots, alice) -> list[User]:
    """Two people who fail all gold, and one who passes it; nothing is done about it yet."""
    lifecycle.change_policy(coots, alice, {"gold_action": "none", "gold_share": 0.5})
    coots.refresh_from_db()
    golden(coots, alice, 12)
    return crowd(coots, ["no", "no", "yes"], pages=3)


def test_whom_rules_would_stop_is_shown_and_nothing_is_saved(desk, coots, wrong):
    changed = rules(gold_action="block", gold_share=0.5)

    page = text_of(desk.post("/campaigns/coots/policy/", changed))

    assert "These rules would stop 2 people at once" in page
    assert "annotator-0no" in page
    assert "annotator-2yes" not in page
    coots.refresh_from_db()
    assert coots.policy.version == 2
    page = text_of(
        desk.post("/campaigns/coots/policy/", changed | {"confirmed": "some"}, follow=True)
    )
    assert "Version 3 of the rules" in page


def test_a_preview_saves_nothing_even_where_nobody_is_stopped(desk, coots, wrong):
    page = text_of(desk.post("/campaigns/coots/policy/", rules(votes=3) | {"preview": "1"}))

    assert "would stop nobody" not in page  # "pause" is the default on gold
    page = text_of(
        desk.post("/campaigns/coots/policy/", rules(votes=3, gold_action="none") | {"preview": "1"})
    )
    assert "would stop nobody" in page
    coots.refresh_from_db()
    assert coots.policy.version == 2


def test_rules_that_stop_everybody_need_more_than_a_nod(desk, coots, wrong, bob):
    coots.memberships.filter(user__in=[wrong[2], bob]).update(stage="paused")
    changed = rules(gold_action="block")

    for confirmed in ("", "some"):
        page = text_of(desk.post("/campaigns/coots/policy/", changed | {"confirmed": confirmed}))
        assert "These rules would stop every active annotator" in page
        assert "annotator-0no" in page
        assert "annotator-1no" in page
    coots.refresh_from_db()
    assert coots.policy.version == 2
    desk.post("/campaigns/coots/policy/", changed | {"confirmed": "everyone"})
    coots.refresh_from_db()
    assert coots.policy.version == 3


def test_a_fault_in_the_rules_is_named_at_its_field(desk, coots):
    page = text_of(desk.post("/campaigns/coots/policy/", rules(good_accuracy=0.6)))

    assert "a good annotator must be right more often" in page
    assert "Nothing was saved" in page


# People


def test_a_persons_page_shows_signals_decisions_and_answers_beside_what_stands(
    desk, coots, alice, wrong
):
    person = member(coots, wrong[0])
    monitoring.watch(coots)
    monitoring.pause(person, alice, "a word first")

    page = text_of(desk.get(f"/campaigns/coots/people/{person.pk}/"))

    assert "annotator-0no" in page
    assert "paused" in page
    assert "a word first" in page
    assert "Gold questions" in page
    assert "Right on 0 of" in page
    assert "differs" in page
    assert "Let them work …" in page
    assert "Pause …" not in page


def test_the_page_opens_though_a_perfect_record_ended_since_the_last_watch(desk, coots, alice, bob):
    known = make_gold(coots, alice, ["yes"] * 3)
    give(bob, known[:2], ["yes", "yes"])
    monitoring.watch(coots, bob)
    give(bob, known[2:], ["no"])

    assert "1 of 1" in text_of(desk.get("/campaigns/coots/quality/"))


def test_a_persons_page_costs_as_many_queries_for_many_answers(
    desk, alice, dataset, django_assert_max_num_queries
):
    counts = []
    for number, images in enumerate((3, 30)):
        campaign = factories.make_campaign(alice, dataset, f"c{number}", images=images)
        user = factories.make_user(f"u{number}")
        factories.join(user, campaign)
        answer_pages(user, campaign, "yes", 3)
        address = f"/campaigns/c{number}/people/{member(campaign, user).pk}/"
        desk.get(address)
        with django_assert_max_num_queries(30) as queries:
            text_of(desk.get(address))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_a_block_says_what_it_will_undo_before_it_does(desk, coots):
    people = crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    person = member(coots, people[4])
    address = f"/campaigns/coots/people/{person.pk}/block/"

    page = text_of(desk.get(address))
    assert "6 answers will be void" in page
    assert "6 finished questions" in page
    person.refresh_from_db()
    assert person.stage == "working"

    page = text_of(desk.post(address, {"reason": ""}))
    assert "Reason is missing" in page
    page = text_of(desk.post(address, {"reason": "guesses"}, follow=True))

    assert "6 answers void" in page
    person.refresh_from_db()
    assert person.stage == "blocked"
    assert coots.questions.filter(state="open").count() == 6
    assert Decision.objects.get(kind="block").reason == "guesses"
    question = coots.questions.order_by("pk").first()
    page = text_of(desk.get(f"/campaigns/coots/questions/{question.pk}/"))
    assert "void: the annotator is blocked" in page


def test_lifting_a_block_brings_everything_back(desk, coots):
    people = crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    person = member(coots, people[4])
    base = f"/campaigns/coots/people/{person.pk}"
    desk.post(f"{base}/block/", {"reason": "guesses"})

    page = text_of(desk.get(f"{base}/unblock/"))
    assert "6 answers will count again" in page
    desk.post(f"{base}/unblock/", {"reason": "a mix-up"})

    person.refresh_from_db()
    assert person.stage == "working"
    assert coots.questions.filter(state="settled").count() == 6


def test_a_researcher_is_blocked_by_nobody(desk, coots, alice):
    colleague = factories.make_user("colleague")
    factories.join(colleague, coots, "researcher")
    for user, message in ((alice, "cannot block yourself"), (colleague, "is a researcher")):
        person = member(coots, user)
        assert "Block …" not in text_of(desk.get(f"/campaigns/coots/people/{person.pk}/"))

        page = text_of(
            desk.post(f"/campaigns/coots/people/{person.pk}/block/", {"reason": "for fun"})
        )

        assert message in page
        person.refresh_from_db()
        assert person.stage == "working"


def test_somebody_paused_is_let_in_again_with_a_reason(desk, coots, bob):
    person = member(coots, bob)
    base = f"/campaigns/coots/people/{person.pk}"
    desk.post(f"{base}/pause/", {"reason": "a word first"})
    person.refresh_from_db()
    assert person.stage == "paused"

    desk.post(f"{base}/pardon/", {"reason": "talked"})

    person.refresh_from_db()
    assert person.stage == "working"
    reasons = Decision.objects.filter(kind="stage").order_by("pk").values_list("reason", flat=True)
    assert list(reasons) == ["a word first", "talked"]


def test_the_list_of_people_shows_where_everybody_stands(desk, coots, bob, alice):
    monitoring.pause(member(coots, bob), alice, "a word first")

    page = text_of(desk.get("/campaigns/coots/people/"))

    assert '<span class="badge paused">paused</span>' in page
    assert f"/campaigns/coots/people/{member(coots, bob).pk}/" in page


# Audit


def test_an_audit_asks_blind_and_counts_too_hard_for_neither_side(desk, coots, alice):
    crowd(coots, ["yes", "yes", "yes", "yes", "no"])
    desk.post("/campaigns/coots/audit/", {"n": 2, "seed": 5})

    page = text_of(desk.get("/campaigns/coots/audit/"))
    row = auditing.next_for(alice, coots)
    assert f"/campaigns/coots/questions/{row.question_id}/image" in page
    assert "Yes 4" not in page
    assert row.question.item.image.name not in page
    desk.post(f"/campaigns/coots/audit/{row.pk}/answer/", {"value": "hard"})
    row = auditing.next_for(alice, coots)
    desk.post(f"/campaigns/coots/audit/{row.pk}/answer/", {"value": "no"})

    estimate = auditing.estimate(coots)
    assert (estimate.answered, estimate.audited, estimate.wrong) == (2, 1, 1)
    assert "All answered" in text_of(desk.get("/campaigns/coots/audit/"))


@pytest.mark.parametrize("value", ["", "maybe", "{broken", '{"key": 1}'])
def test_no_answer_of_an_audit_is_not_taken_for_one(desk, coots, alice, value):
    crowd(coots, ["yes"] * 5)
    auditing.draw(coots, alice, 1, seed=1)
    row = coots.audits.get()

    desk.post(f"/campaigns/coots/audit/{row.pk}/answer/", {"value": value})

    row.refresh_from_db()
    assert row.answered_at is None


def test_more_than_is_settled_cannot_be_drawn(desk, coots):
    page = text_of(desk.post("/campaigns/coots/audit/", {"n": 5}))

    assert "Only 0 questions are settled" in page
    assert not coots.audits.exists()


def test_staff_who_are_no_members_see_the_audit_and_answer_nothing(coots, alice):
    crowd(coots, ["yes"] * 5)
    auditing.draw(coots, alice, 1, seed=1)
    client = logged_in(factories.make_user("root", is_staff=True))

    assert "0 of 1 answered" in text_of(client.get("/campaigns/coots/audit/"))


def test_one_vote_is_shown_as_one_of_one_with_its_interval(desk, alice, bob, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "single", images=1, policy={"votes": 1, "gold_share": 0}
    )
    factories.join(bob, campaign)
    answer_pages(bob, campaign, "yes")
    question = campaign.questions.get()

    page = text_of(desk.get(f"/campaigns/single/questions/{question.pk}/"))
    rows = text_of(desk.get("/campaigns/single/questions/"))
    [row] = desk.get("/api/v1/campaigns/single/questions/").json()["results"]

    assert "said by 1 of 1 who could answer (21 % to 100 %)" in page
    assert "1 of 1</small>" in rows
    assert (row["probability"], row["votes"]) == (1.0, 1)
    assert row["interval"] == pytest.approx([0.2065, 1], abs=1e-4)


def test_agreement_below_chance_is_shown_as_bad(desk, coots, monkeypatch):
    answer_pages(crowd(coots, ["yes", "no"])[0], coots, "yes")
    figures = replace(quality_page.figures(coots), decided=3, alpha=-0.14)
    monkeypatch.setattr(quality_page, "figures", lambda campaign: figures)

    for address in ("/campaigns/coots/", "/campaigns/coots/quality/"):
        page = text_of(desk.get(address))
        assert '<dd class="bad">-0.14 <small>worse than chance</small></dd>' in page


def test_being_at_work_is_green_for_those_alone_whom_gold_accepted(desk, coots, bob):
    row = member(coots, bob)
    badge = '<span class="badge {}">working</span>'
    assert badge.format("working") in text_of(desk.get("/campaigns/coots/people/"))

    row.standing = {"test": {"right": 12, "total": 12, "verdict": "accepted", "accepted": 1}}
    row.save()
    assert badge.format("accepted") in text_of(desk.get("/campaigns/coots/people/"))

    words = "Answered “yes” 45 times in a row"
    row.standing["reasons"] = [{"signal": "runs", "action": "none", "words": words}]
    row.save()
    for address in ("/campaigns/coots/", "/campaigns/coots/people/"):
        page = text_of(desk.get(address))
        assert badge.format("suspect") in page
        assert words in page


def test_gold_of_boxes_comes_as_a_list_of_every_instance(desk, alice, dataset):
    campaign = boxers.make(alice, dataset)
    factories.make_image(dataset, "gold.png")
    lines = f"image,wnid,x0,y0,x1,y1\ngold.png,{boxers.DOG},2,2,22,22\n"

    desk.post(
        f"/campaigns/{campaign.name}/gold/upload/", {"gold_file": upload("g.csv", lines.encode())}
    )

    assert campaign.questions.filter(state="gold").count() == 3
    page = text_of(desk.get(f"/campaigns/{campaign.name}/gold/"))
    assert "List every object" in page
    assert "Add gold" not in page
