"""The researcher's pages about benchmarks, shown to everybody."""

import json
from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse

from evaluation import figures
from evaluation.benchmarks import runs
from evaluation.benchmarks.kind import kind_of
from evaluation.models import Benchmark, Run
from labeling.models import Campaign
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, logged_in, text_of, upload
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, DRAKE


@pytest.fixture
def run(birds, alice, run_jobs) -> Run:
    """A finished run: alpha and beta are always right, gamma never."""
    people = crowd.people_of(birds.campaign)
    crowd.answer(birds.campaign, people, crowd.right_is(COOT, DRAKE))
    made = runs.request(birds, alice)
    run_jobs()
    made.refresh_from_db()
    return made


PAGE, NEW = "/benchmarks/birds/", "/benchmarks/new/mad/"


def test_lists_show_each_person_their_own(run, as_alice, bob, charlie):
    factories.join(bob, run.benchmark.campaign)
    page = "/benchmarks/"

    assert b"Birds" in as_alice.get(page).content
    assert b"Birds" not in logged_in(bob).get(page).content
    assert b"No benchmark yet" in logged_in(charlie).get(page).content
    assert Client().get(page).status_code == 302


def test_list_asks_the_same_queries_however_many_there_are(
    as_alice, alice, dataset, wordnet, django_assert_max_num_queries
):
    for number in range(4):
        crowd.make(alice, dataset, wordnet, name=f"birds-{number}", launch=False)

    with django_assert_max_num_queries(8):
        as_alice.get("/benchmarks/")


def form(dataset, **changes) -> dict:
    return {
        "title": "Birds",
        "name": "birds",
        "dataset": dataset.name,
        "selection": crowd.file_of(crowd.lines()),
        "votes": 5,
        "seconds_per_answer": 4,
        "cost_per_hour": 36,
        "currency": "EUR",
        "smoothing": "laplace",
        "bootstrap": 100,
        "seed": 0,
    } | changes


def test_counts_and_cost_come_before_anything_is_made(as_alice, dataset, wordnet):
    crowd.add_images(dataset, crowd.lines())

    page = as_alice.post(NEW, form(dataset))

    assert page.status_code == 200
    assert page.context["plan"].questions == 15
    assert not Benchmark.objects.exists()


def test_second_step_needs_no_second_upload(as_alice, dataset, wordnet):
    crowd.add_images(dataset, crowd.lines())
    first = as_alice.post(NEW, form(dataset))
    kept = factories.kept_in(first)

    made = as_alice.post(NEW, form(dataset, selection="", create="1", **kept))

    assert made.status_code == 302
    benchmark = Benchmark.objects.get()
    assert benchmark.campaign.state == Campaign.State.DRAFT
    assert benchmark.campaign.policy.content["cost_per_hour"] == 36
    assert benchmark.settings["bootstrap"] == 100


def test_another_persons_upload_is_not_to_be_had(as_alice, dataset, wordnet):
    crowd.add_images(dataset, crowd.lines())
    kept = factories.kept_in(as_alice.post(NEW, form(dataset)))
    stranger = factories.make_user("other", is_researcher=True)
    strangers_dataset = factories.make_dataset(stranger, "own")

    answer = logged_in(stranger).post(
        NEW, form(strangers_dataset, selection="", create="1", **kept)
    )

    assert answer.status_code == 422
    assert "Choose it again" in html_of(answer)
    assert not Benchmark.objects.exists()


def test_a_fault_in_the_file_is_named_with_its_line(as_alice, dataset, wordnet):
    rows = crowd.lines()
    rows[3]["rank"] = "three"

    page = as_alice.post(NEW, form(dataset, selection=crowd.file_of(rows)))

    assert page.status_code == 422
    assert "selection.jsonl, line 4: rank is" in page.context["form"].errors["selection"][0]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"n01440764 " * 60_000])
def test_a_vocabulary_that_is_no_short_text_is_refused(as_alice, dataset, wordnet, content):
    crowd.add_images(dataset, crowd.lines())
    file = upload("classes.txt", content)

    page = as_alice.post(NEW, form(dataset, vocabulary=file, create="1"))

    assert page.status_code == 422
    assert page.context["form"].errors["vocabulary"]
    assert not Benchmark.objects.exists()


def test_missing_images_keep_the_benchmark_from_being_made(as_alice, dataset, wordnet):
    page = as_alice.post(NEW, form(dataset, create="1"))

    assert page.status_code == 422
    assert "7 chosen images are not in the dataset" in html_of(page)
    assert not Campaign.objects.exists()


def test_page_of_a_draft_says_that_nobody_is_asked_and_what_it_costs(
    as_alice, alice, dataset, wordnet
):
    policy = {"gold_share": 0.2, "stop_early": "never"}
    crowd.make(alice, dataset, wordnet, launch=False, policy=policy)

    page = text_of(as_alice.get(PAGE))

    assert "Not open yet" in page
    assert "15 questions need about 75 answers" in page


def test_benchmark_page_shows_ranks_cases_and_conventions(run, as_alice):
    page = text_of(as_alice.get(PAGE))

    for text in ("Case II: one right", "Laplace", "50 rounds, seed 0", "HodgeRank", "release 1"):
        assert text in page


def test_moving_part_comes_only_when_something_moved(run, as_alice):
    page = as_alice.get(PAGE)
    seen = page.context["seen"]
    htmx = {"HX-Request": "true"}

    with mock.patch.object(runs, "obstacle", side_effect=AssertionError("needless")):
        still = as_alice.get(PAGE, {"seen": seen}, headers=htmx)
    moved = as_alice.get(PAGE, {"seen": "0-0"}, headers=htmx)

    assert still.status_code == 204
    assert moved.status_code == 200
    assert b"<html" not in moved.content


def test_score_now_queues_a_run(run, as_alice, alice):
    answer = as_alice.post(f"{PAGE}score/")

    assert answer.status_code == 302
    assert Run.objects.get(state="queued").requested_by == alice


def test_score_now_is_off_with_its_reason_until_something_can_be_compared(birds, as_alice):
    reason = "No classifiers can be compared yet: no image has both of its questions settled."

    page = text_of(as_alice.get(PAGE))
    response = as_alice.post(f"{PAGE}score/", follow=True)

    assert "disabled" in page.split("Score now")[0].rpartition("<button")[2]
    assert reason in page
    assert reason in html_of(response).partition('class="messages')[2]
    assert not Run.objects.exists()
    assert not birds.campaign.releases.exists()


def test_score_now_comes_on_by_itself_when_people_have_answered(birds, as_alice):
    crowd.answer(birds.campaign, crowd.people_of(birds.campaign), crowd.right_is(COOT))

    moved = html_of(as_alice.get(PAGE, {"seen": "-"}, headers={"HX-Request": "true"}))

    form = moved.partition('id="score-now"')[2].partition("</form>")[0]
    assert 'hx-swap-oob="true"' in form
    assert "disabled" not in form


def test_a_failed_score_says_why(birds, as_alice, run_jobs):
    runs.request(birds)
    run_jobs()

    page = text_of(as_alice.get(PAGE))

    assert "The latest score failed" in page
    assert "no comparison joins the groups" in page


def test_typed_accuracies_are_kept_and_scored(run, as_alice, run_jobs):
    typed = {"accuracy_0": 70, "accuracy_1": 60.5, "accuracy_2": 80}
    as_alice.post(f"{PAGE}accuracies/", typed)
    run_jobs()

    page = text_of(as_alice.get(PAGE))

    assert list(run.benchmark.submissions.values_list("accuracy", flat=True)) == [70, 60.5, 80]
    assert "Spearman -0.8660" in page


def test_a_bad_accuracy_list_is_refused_with_its_line(run, as_alice):
    for text, message in (
        ("classifier,accuracy\nalpha,1\nalpha,2\n", "line 3: &#x27;alpha&#x27; is listed twice"),
        ("classifier,accuracy\nomega,80\n", "No classifier here is called &#x27;omega&#x27;"),
    ):
        file = upload("accuracy.csv", text)

        answer = as_alice.post(f"{PAGE}accuracies/", {"file": file})

        assert answer.status_code == 422, text
        assert message in html_of(answer)


def test_gallery_shows_what_people_said_of_both_predictions_by_case(run, as_alice):
    gallery = f"{PAGE}pairs/0/2/"

    page = text_of(as_alice.get(gallery))

    for words in ("Case II 3", "American coot", "5 yes", "5 no"):
        assert words in page
    assert len(as_alice.get(gallery, {"case": "II"}).context["page_obj"].object_list) == 3
    assert as_alice.get(gallery, {"case": "III"}).context["page_obj"].object_list == []
    assert "None here" in text_of(as_alice.get(gallery, {"case": "<script>"}))


def test_gallery_queries_do_not_grow_with_the_images(
    run, as_alice, alice, dataset, wordnet, django_assert_max_num_queries
):
    crowd.make(alice, dataset, wordnet, crowd.lines(top_k=12), name="more")
    pages = [reverse("evaluation:gallery", args=[name, 0, 2]) for name in ("birds", "more")]

    for page in pages:
        with django_assert_max_num_queries(18):
            as_alice.get(page)


def test_pair_named_the_other_way_round_is_found(run, as_alice):
    answer = as_alice.get(f"{PAGE}pairs/2/0/")

    assert answer.url == f"{PAGE}pairs/0/2/"


def test_asking_for_a_true_label_from_the_gallery(birds, as_alice, run_jobs):
    people = crowd.people_of(birds.campaign)
    crowd.answer(birds.campaign, people, crowd.right_is())
    line = birds.selections.filter(state="chosen").first()

    answer = as_alice.post(f"{PAGE}true-labels/", {"selection": line.pk}, follow=True)

    assert "Annotators are being asked for the true label" in html_of(answer)
    birds.refresh_from_db()
    assert birds.naming.questions.count() == 1


def test_asking_about_nothing_is_refused(run, as_alice):
    for sent in (
        {},
        {"first": "x", "second": "1"},
        {"selection": "999999"},
        {"selection": "9" * 5000},
        {"first": "0", "second": "9" * 5000},
    ):
        assert as_alice.post(f"{PAGE}true-labels/", sent).status_code == 400, sent


def test_downloads_are_files_that_the_commands_read_again(run, as_alice, tmp_path, wordnet):
    from django.core.management import call_command

    for prefix, file in ((PAGE, "selection"), (f"{PAGE}runs/{run.pk}/", "answers")):
        answer = as_alice.get(f"{prefix}{file}.jsonl")
        assert answer["Content-Disposition"].startswith("attachment")
        (tmp_path / f"{file}.jsonl").write_bytes(b"".join(answer))
    with open(tmp_path / "result.json", "w") as out:
        call_command(
            *("mad", "rank", "--selection", str(tmp_path / "selection.jsonl")),
            *("--answers", str(tmp_path / "answers.jsonl"), "--bootstrap", "50", "--json"),
            stdout=out,
        )

    ranked = json.loads((tmp_path / "result.json").read_text())
    result = as_alice.get(f"{PAGE}runs/{run.pk}/result.json").json()
    for key in ("ranks", "scores", "accuracy", "beats", "cases"):
        assert ranked[key] == result[key], key


def test_answers_that_are_gone_are_not_found(run, as_alice):
    (freezing.folder_of(run.release) / "answers.jsonl").unlink()

    assert as_alice.get(f"{PAGE}runs/{run.pk}/answers.jsonl").status_code == 404


def test_figures_come_for_both_themes_and_to_keep_and_unknown_ones_are_not_found(run, as_alice):
    figures = f"{PAGE}runs/{run.pk}/"
    ranks = f"{figures}ranks.png"

    response, kept = as_alice.get(ranks, {"theme": "dark"}), as_alice.get(ranks, {"download": ""})

    assert response["Content-Type"] == "image/png"
    assert "Content-Disposition" not in response
    assert kept["Content-Disposition"] == f'attachment; filename="birds-run-{run.pk}-ranks.png"'
    assert as_alice.get(ranks, {"theme": "pink"}).status_code == 404
    for unknown in ("heatmap.pdf", "nothing.svg", "ranks.exe"):
        assert as_alice.get(f"{figures}{unknown}").status_code == 404, unknown


def test_threads_draw_one_after_another(run, as_alice, monkeypatch):
    # Two that import matplotlib at once fail.
    drawn = []
    kind = kind_of(run.benchmark)
    monkeypatch.setattr(
        type(kind), "draw", lambda *arguments: drawn.append(figures.DRAWING.locked()) or b"a figure"
    )

    as_alice.get(f"{PAGE}runs/{run.pk}/ranks.png")

    assert drawn == [True]
    assert not figures.DRAWING.locked()


def test_a_run_of_another_benchmark_is_not_found_here(run, as_alice, alice, dataset, wordnet):
    crowd.make(alice, dataset, wordnet, name="others", launch=False)

    page = reverse("evaluation:result_json", args=["others", run.pk])

    assert as_alice.get(page).status_code == 404
