"""From a selection to questions, replacements, and classifiers that join."""

import math

import pytest

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import competitions, true_labels
from evaluation.models import Benchmark, Selection
from evaluation.readers import selections
from labeling.errors import Conflict, Refusal
from labeling.files import BadInput
from labeling.jobs import queue
from labeling.models import Campaign, Decision, Job, Question
from labeling.reports.campaign_page import decision_words
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, DRAKE, GOLDFISH, TENCH


def questions_of(benchmark: Benchmark, state: str = "open") -> set[tuple[str, str]]:
    rows = benchmark.campaign.questions.filter(state=state)
    return set(rows.values_list("item__image__name", "topic"))


def chosen_images(benchmark: Benchmark, first: str, second: str) -> list[str]:
    rows = benchmark.selections.filter(first__name=first, second__name=second, state="chosen")
    return list(rows.order_by("rank").values_list("image", flat=True))


def images_only_of(pair: str, *ranks: int) -> list[str]:
    """The images that a pair has alone."""
    return [f"{pair}-{rank}.png" for rank in ranks]


def drop(image: str, *topics: str):
    """Everybody finds the image too hard on these topics, and says nothing of the rest."""
    return lambda name, topic: "hard" if name == image and topic in topics else None


def test_each_image_and_class_is_asked_once_however_many_pairs_want_it(birds):
    questions = questions_of(birds)

    # shared.png stands for three pairs with two labels each: three questions, not six.
    assert {topic for image, topic in questions if image == "shared.png"} == {COOT, DRAKE, TENCH}
    assert len(questions) == 3 + 3 * 2 * 2


def test_reserves_are_kept_and_not_asked(birds):
    assert birds.selections.filter(state=Selection.State.RESERVE).count() == 6
    assert not any(image.endswith(("-4.png", "-5.png")) for image, _ in questions_of(birds))


def test_people_see_name_gloss_synonyms_and_a_page_to_read(birds):
    topic = birds.campaign.topics.get(key=COOT)

    assert topic.name == "American coot"
    assert topic.synonyms == ["marsh hen", "mud hen", "water hen", "Fulica americana"]
    assert topic.definition == "a coot found in North America"
    assert topic.url == "https://en.wikipedia.org/wiki/American_coot"


def test_classifiers_keep_the_order_of_the_selection(birds):
    assert list(birds.submissions.values_list("name", "position")) == [
        ("alpha", 0),
        ("beta", 1),
        ("gamma", 2),
    ]


def test_missing_chosen_images_are_listed_and_nothing_is_made(alice, dataset, wordnet):
    with pytest.raises(Refusal, match=r"2 chosen images.*alpha-beta-2\.png, shared\.png"):
        crowd.make(alice, dataset, wordnet, but={"shared.png", "alpha-beta-2.png"})

    assert not Benchmark.objects.exists()
    assert not Campaign.objects.exists()


def test_missing_reserves_are_planned_for_and_do_not_stand_in_the_way(alice, dataset, wordnet):
    rows = crowd.lines()
    crowd.add_images(dataset, rows, but={"alpha-beta-4.png"})

    plan = competitions.plan(selections.from_rows(rows, wordnet), dataset)

    assert plan.missing == []
    assert plan.missing_reserve == ["alpha-beta-4.png"]
    assert crowd.make(alice, dataset, wordnet, but={"alpha-beta-4.png"}).pk


def test_plan_counts_what_it_would_ask_and_cost(dataset, wordnet):
    rows = crowd.lines()
    crowd.add_images(dataset, rows)
    policy = {"votes": 5, "seconds_per_answer": 4, "cost_per_hour": 36, "gold_share": 0}

    every = policy | {"stop_early": "never"}
    plan = competitions.plan(selections.from_rows(rows, wordnet), dataset, every)
    early = competitions.plan(selections.from_rows(rows, wordnet), dataset, policy)

    assert (plan.pairs, plan.images, plan.questions, plan.wnids) == (3, 7, 15, 3)
    assert plan.estimate.answers == 75
    assert plan.estimate.cost == pytest.approx(3.0)
    # A majority of five takes 3.723 votes where a quarter of the images is hard.
    assert early.estimate.answers == 56


def test_same_selection_under_the_same_name_again_is_the_same_benchmark(
    birds, alice, dataset, wordnet
):
    again = crowd.make(alice, dataset, wordnet)

    assert again == birds
    assert Campaign.objects.count() == 1


def test_another_selection_under_a_taken_name_is_a_conflict(birds, alice, dataset, wordnet):
    with pytest.raises(Conflict, match="already called 'birds'"):
        crowd.make(alice, dataset, wordnet, crowd.lines(top_k=2))


def test_a_bad_line_is_named_with_its_number(wordnet):
    for change, line, message in [
        ({"pair": ["alpha", "omega"]}, 2, "names no classifier 'omega'"),
        ({"pair": ["alpha", "alpha"]}, 2, "paired with itself"),
        ({"pair": ["alpha"]}, 2, "pair needs two values"),
        ({"labels": [COOT, "n99999999"]}, 2, "'n99999999'"),
        ({"labels": [COOT, COOT]}, 2, "both labels are"),
        ({"rank": 0}, 2, "rank is 0"),
        ({"rank": True}, 2, "rank is True"),
        ({"rank": 2}, 3, "rank 2 in line 2"),
        ({"rank": 10**30}, 2, "rank is 10"),
        ({"image": "a\0b"}, 2, "image needs an id"),
        ({"image": "\ud800"}, 2, "image needs an id"),
        ({"distance": 10**400}, 2, "distance needs a number"),
        ({"image": "alpha-beta-2.png"}, 3, "image 'alpha-beta-2.png' in line 2"),
        ({"image": ""}, 2, "image needs an id"),
        ({"confidences": [0.9, 1.5]}, 2, "confidences two in"),
        ({"distance": None}, 2, "distance needs a number"),
    ]:
        rows = crowd.lines()
        rows[1] |= change

        with pytest.raises(BadInput, match=message) as refusal:
            selections.from_rows(rows, wordnet)

        assert refusal.value.line == line, change
        assert refusal.value.cure, change


def test_a_bad_meta_line_is_refused(wordnet):
    for meta, message in [
        (None, "the first line is not"),
        ({"classifiers": ["a"], "top_k": 3}, "two or more names"),
        ({"classifiers": ["a", "a"], "top_k": 3}, "twice"),
        ({"classifiers": ["a", "b"], "top_k": 0}, "top_k is 0"),
        ({"classifiers": ["a", "b"], "top_k": 10**30}, "top_k is 1000"),
        ({"classifiers": ["a", "b"], "top_k": 3, "note": "a\0b"}, "NUL"),
        ({"classifiers": ["a", "b"], "top_k": 3, "note": math.nan}, "NaN"),
        ({"classifiers": ["a", "b"], "top_k": 3, "note": "\ud800"}, "half a character"),
        ({"classifiers": ["a", "b\0"], "top_k": 3}, "two or more names"),
        ({"classifiers": ["a", "b"], "top_k": 3, "distance": "miles"}, "distance is 'miles'"),
    ]:
        rows = crowd.lines()
        rows[0] = {"meta": meta} if meta else rows[1]

        with pytest.raises(BadInput, match=message):
            selections.from_rows(rows, wordnet)


def test_too_hard_an_image_leaves_only_the_pairs_that_asked_that_question(birds, people, run_jobs):
    crowd.answer(birds.campaign, people, drop("shared.png", COOT))

    run_jobs()

    assert chosen_images(birds, "alpha", "beta") == images_only_of("alpha-beta", 2, 3, 4)
    assert chosen_images(birds, "alpha", "gamma") == images_only_of("alpha-gamma", 2, 3, 4)
    # Neither of this pair's questions about the image was too hard: both are still asked.
    assert chosen_images(birds, "beta", "gamma")[0] == "shared.png"
    assert {("shared.png", DRAKE), ("shared.png", TENCH)} <= questions_of(birds)


def test_what_no_pair_needs_is_withdrawn_and_the_replacement_asked_as_returned(
    birds, people, run_jobs
):
    crowd.answer(birds.campaign, people, drop("alpha-beta-2.png", DRAKE))

    run_jobs()

    assert ("alpha-beta-2.png", COOT) in questions_of(birds, "withdrawn")
    assert {("alpha-beta-4.png", COOT), ("alpha-beta-4.png", DRAKE)} <= questions_of(birds)
    lanes = birds.campaign.questions.filter(item__image__name="alpha-beta-4.png")
    assert set(lanes.values_list("lane", flat=True)) == {Question.Lane.RETURNED}


def test_running_the_job_again_changes_nothing(birds, people, run_jobs):
    crowd.answer(birds.campaign, people, drop("shared.png", COOT))
    run_jobs()
    before = list(birds.selections.values_list("pk", "state"))
    decisions = Decision.objects.count()

    for job in Job.objects.filter(kind="question dropped"):
        competitions.replace_dropped(job)

    assert list(birds.selections.values_list("pk", "state")) == before
    assert Decision.objects.count() == decisions


@pytest.mark.parametrize("backwards", [False, True])
def test_order_in_which_drops_are_seen_to_does_not_matter(birds, people, backwards):
    for image, topic in (("alpha-beta-2.png", COOT), ("alpha-beta-3.png", DRAKE)):
        crowd.answer(birds.campaign, people, drop(image, topic))
    queued = list(Job.objects.filter(kind="question dropped").order_by("pk"))

    for job in reversed(queued) if backwards else queued:
        queue.run(job.pk)

    assert chosen_images(birds, "alpha", "beta") == [
        "shared.png",
        *images_only_of("alpha-beta", 4, 5),
    ]


def test_a_dropped_replacement_is_replaced_in_turn(birds, people, run_jobs):
    for image, topic in (("alpha-beta-2.png", COOT), ("alpha-beta-4.png", DRAKE)):
        crowd.answer(birds.campaign, people, drop(image, topic))
        run_jobs()

    assert chosen_images(birds, "alpha", "beta") == [
        "shared.png",
        *images_only_of("alpha-beta", 3, 5),
    ]


def test_a_pair_without_reserve_simply_has_fewer(birds, people, run_jobs):
    for number in (2, 3):
        crowd.answer(birds.campaign, people, drop(f"alpha-beta-{number}.png", COOT))
    run_jobs()
    crowd.answer(birds.campaign, people, drop("alpha-beta-4.png", COOT))
    run_jobs()

    assert chosen_images(birds, "alpha", "beta") == ["shared.png", "alpha-beta-5.png"]
    decided = Decision.objects.filter(kind=Decision.Kind.DROP).order_by("pk")
    words = [decision_words(decision) for decision in decided]
    assert "removed alpha-beta-2.png for alpha and beta" in words
    assert "added alpha-beta-5.png for alpha and beta" in words
    assert sum(word.startswith("removed") for word in words) == 3


def test_a_gap_in_the_ranks_takes_no_reserve(alice, dataset, wordnet, run_jobs):
    rows = [row for row in crowd.lines() if row.get("image") != "alpha-beta-2.png"]
    benchmark = crowd.make(alice, dataset, wordnet, rows)

    crowd.answer(
        benchmark.campaign, crowd.people_of(benchmark.campaign), drop("alpha-beta-3.png", COOT)
    )
    run_jobs()

    assert chosen_images(benchmark, "alpha", "beta") == ["shared.png", "alpha-beta-4.png"]


def test_a_reserve_that_was_dropped_elsewhere_is_passed_over(alice, dataset, wordnet, run_jobs):
    rows = crowd.lines()
    for row in rows[1:]:
        # The same image, asked already by alpha – gamma, is alpha – beta's first reserve.
        if row["pair"] == ["alpha", "beta"] and row["rank"] == 4:
            row["image"] = "alpha-gamma-2.png"
    benchmark = crowd.make(alice, dataset, wordnet, rows)
    people = crowd.people_of(benchmark.campaign)
    crowd.answer(benchmark.campaign, people, drop("alpha-gamma-2.png", COOT))
    run_jobs()

    crowd.answer(benchmark.campaign, people, drop("alpha-beta-2.png", COOT))
    run_jobs()

    assert chosen_images(benchmark, "alpha", "beta") == [
        "shared.png",
        *images_only_of("alpha-beta", 3, 5),
    ]


def test_a_missing_reserve_fails_the_job_with_its_name_and_works_on_retry(
    alice, dataset, wordnet, run_jobs
):
    benchmark = crowd.make(alice, dataset, wordnet, but={"alpha-beta-4.png"})
    people = crowd.people_of(benchmark.campaign)
    crowd.answer(benchmark.campaign, people, drop("shared.png", COOT))

    run_jobs()

    job = Job.objects.get(kind="question dropped")
    assert job.state == Job.State.FAILED
    assert "alpha-beta-4.png" in job.error
    assert "add them to the dataset" in job.error
    # The other pair was served; this one waits with a gap, and no later reserve overtakes.
    assert chosen_images(benchmark, "alpha", "gamma")[-1] == "alpha-gamma-4.png"
    assert chosen_images(benchmark, "alpha", "beta") == ["alpha-beta-2.png", "alpha-beta-3.png"]

    crowd.add_images(dataset, crowd.lines())
    queue.retry(job, alice)
    run_jobs()

    assert chosen_images(benchmark, "alpha", "beta")[-1] == "alpha-beta-4.png"
    job.refresh_from_db()
    assert job.state == Job.State.DONE


def test_a_campaign_of_its_own_has_nothing_to_replace(coots, run_jobs):
    question = coots.questions.first()
    Question.objects.filter(pk=question.pk).update(state="dropped", seats_free=0)
    queue.enqueue("question dropped", str(question.pk), {"question": question.pk}, coots)

    run_jobs()

    assert Job.objects.get(kind="question dropped").state == Job.State.DONE


def test_a_classifier_joins_and_only_its_pairs_are_asked(birds, alice, dataset, wordnet):
    before = questions_of(birds)
    crowd.add_images(dataset, crowd.joining())

    joined = competitions.add_classifier(birds, alice, crowd.joining(), wordnet)

    new = questions_of(birds) - before
    assert joined == ["delta"]
    assert {image for image, _ in new} == {"shared.png"} | {
        f"{pair}-{rank}.png"
        for pair in ("alpha-delta", "beta-delta", "delta-gamma")
        for rank in (2, 3)
    }
    assert ("shared.png", GOLDFISH) in new
    assert ("shared.png", COOT) not in new


def test_joining_twice_adds_nothing(birds, alice, dataset, wordnet):
    crowd.add_images(dataset, crowd.joining())
    competitions.add_classifier(birds, alice, crowd.joining(), wordnet)
    count = birds.selections.count()

    assert competitions.add_classifier(birds, alice, crowd.joining(), wordnet) == []

    assert birds.selections.count() == count
    assert birds.submissions.count() == 4


def test_joining_with_another_rule_is_refused(birds, alice, wordnet):
    rows = crowd.joining()
    rows[0]["meta"]["min_confidence"] = 0.5

    with pytest.raises(BadInput, match=r"min_confidence is 0\.5, and 0\.8"):
        competitions.add_classifier(birds, alice, rows, wordnet)


def test_other_images_for_a_pair_that_competes_already_are_a_conflict(birds, alice, wordnet):
    rows = crowd.lines()
    rows[2]["image"] = "shared.png"
    rows[1]["image"] = "alpha-beta-2.png"

    with pytest.raises(Conflict, match="alpha – beta already exists"):
        competitions.add_classifier(birds, alice, rows, wordnet)


def test_joining_with_missing_images_changes_nothing(birds, alice, wordnet):
    with pytest.raises(Refusal, match="6 chosen images"):
        competitions.add_classifier(birds, alice, crowd.joining(), wordnet)

    assert birds.submissions.count() == 3


def test_an_image_that_was_too_hard_never_enters_the_new_pairs(
    birds, people, alice, dataset, wordnet, run_jobs
):
    crowd.answer(birds.campaign, people, drop("shared.png", COOT))
    run_jobs()
    crowd.add_images(dataset, crowd.joining())

    competitions.add_classifier(birds, alice, crowd.joining(), wordnet)

    assert chosen_images(birds, "alpha", "delta") == images_only_of("alpha-delta", 2, 3, 4)
    assert chosen_images(birds, "beta", "delta")[0] == "shared.png"


def test_ranking_the_union_equals_a_full_run(alice, dataset, wordnet, run_jobs):
    every = tuple(
        (a, b)
        for n, a in enumerate(("alpha", "beta", "delta", "gamma"))
        for b in ("alpha", "beta", "delta", "gamma")[n + 1 :]
    )
    whole = crowd.make(alice, dataset, wordnet, crowd.lines(every), name="whole")
    grown = crowd.make(alice, dataset, wordnet, name="grown")
    competitions.add_classifier(grown, alice, crowd.joining(), wordnet)
    for benchmark in (whole, grown):
        people = crowd.people_of(benchmark.campaign)
        crowd.answer(benchmark.campaign, people, crowd.right_is(COOT, GOLDFISH))
        runs.request(benchmark)
    run_jobs()

    results = [runs.latest(benchmark).result for benchmark in (whole, grown)]

    for result in results:
        del result["release"]
    assert results[0] == results[1]


def test_true_label_is_asked_only_where_both_were_wrong(birds, people, alice, wordnet, run_jobs):
    crowd.answer(birds.campaign, people, crowd.right_is(TENCH))
    rows = birds.selections.filter(first__name="alpha", second__name="gamma", state="chosen")

    with pytest.raises(Refusal, match="3 of these images have a prediction"):
        true_labels.ask_true_label(birds, alice, list(rows), wordnet)

    assert Campaign.objects.count() == 1


def test_true_label_comes_with_both_classifiers_distance_to_it(
    birds, people, alice, wordnet, run_jobs
):
    crowd.answer(birds.campaign, people, crowd.right_is())
    rows = list(birds.selections.filter(first__name="alpha", second__name="beta", state="chosen"))

    naming = true_labels.ask_true_label(birds, alice, rows, wordnet)

    assert naming.state == Campaign.State.OPEN
    assert {entry["key"] for entry in naming.settings["vocabulary"]} == {COOT, DRAKE, TENCH}
    assert set(naming.memberships.values_list("user", flat=True)) == {
        alice.pk,
        *(person.pk for person in people),
    }
    crowd.answer(naming, people, lambda image, topic: {"key": DRAKE})
    birds.refresh_from_db()
    labels = true_labels.true_labels(birds, [row.image for row in rows])
    assert labels == {row.image: DRAKE for row in rows}
    assert true_labels.distances_to(DRAKE, [COOT, DRAKE], "weighted", wordnet) == [
        0.003662109375,
        0.0,
    ]


def test_asking_again_opens_no_second_campaign(birds, people, alice, wordnet):
    crowd.answer(birds.campaign, people, crowd.right_is())
    rows = list(birds.selections.filter(first__name="alpha", second__name="beta", state="chosen"))
    first = true_labels.ask_true_label(birds, alice, rows[:1], wordnet)

    second = true_labels.ask_true_label(birds, alice, rows, wordnet)

    assert second == first
    assert second.questions.count() == 3


def test_accuracies_of_strangers_are_refused(birds):
    with pytest.raises(Refusal, match="called 'omega'"):
        competitions.set_accuracies(birds, {"alpha": 0.8, "omega": 0.9})

    assert set(birds.submissions.values_list("accuracy", flat=True)) == {None}
