"""The pages that make a CDS benchmark and bring classifiers in, shown to everybody."""

import json
import shlex

from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command, load_command_class
from django.urls import reverse

from evaluation.benchmarks.kinds.cds import benchmarks, urls
from evaluation.models import Benchmark, Run
from labeling.jobs import kept_files
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, logged_in, upload
from tests.evaluation import crowd
from tests.evaluation.cds import results, world
from tests.labeling.parted import CAT, COW

# name → the method that does something, and arguments after the benchmark's name.
PAGES = {
    "cds_people": ("post", []),
    "cds_objects": ("get", ["run"]),
    "cds_viewer": ("get", ["run", 0]),
    "cds_frames": ("post", ["run", 0]),
    "cds_frame": ("get", ["run", 0, 1]),
    "cds_galleries": ("get", ["run"]),
}
NEW = "/benchmarks/new/cds/"
SUBMISSIONS, LINES, ORDERS, REMOVE = (
    f"/benchmarks/reveal/{page}"
    for page in ("submissions/", "sequences.jsonl", "orders.json", "submissions/0/remove/")
)


def address(name: str, benchmark: str = "reveal", run: int = 1) -> str:
    parts = [run if part == "run" else part for part in PAGES[name][1]]
    return reverse(f"evaluation:{name}", args=[benchmark, *parts])


def form(cats, **changes) -> dict:
    return {
        "title": "Reveal",
        "name": "reveal",
        "campaign": cats.name,
        "random": "on",
        "content_schemes": ["intra-object", "low"],
        "measure": "wup",
        "convention": "clean",
        "by": "wnid",
        "bootstrap": 20,
        "seed": 0,
    } | changes


def orders_file(campaign, name="orders.json", **changes) -> SimpleUploadedFile:
    mine = world.orders_of(campaign, mine=list)["mine"]
    return upload(name, json.dumps({"orders": {"mine": mine | changes}}))


def mapping_file(*rows: str) -> SimpleUploadedFile:
    return upload("mapping.csv", "\n".join(["category,wnid", *rows]))


def test_every_page_is_in_the_table():
    assert {pattern.name for pattern in urls.urlpatterns} == set(PAGES)


def test_a_competition_has_no_such_pages(as_alice, alice, dataset, wordnet):
    crowd.make(alice, dataset, wordnet)
    for name in PAGES:
        assert getattr(as_alice, PAGES[name][0])(address(name, "birds")).status_code == 404, name


def test_what_competitions_alone_have_is_not_there(reveal, alice, as_alice):
    run = world.run_by_hand(reveal, alice)
    for name, method, args in [
        ("accuracies", "get", []),
        ("true_labels", "post", []),
        ("gallery", "get", [0, 1]),
        ("file", "get", ["selection.jsonl"]),
    ]:
        parts = [run.pk if part == "run" else part for part in args]

        page = reverse(f"evaluation:{name}", args=["reveal", *parts])

        assert getattr(as_alice, method)(page).status_code == 404, name


def test_the_list_tells_kinds_apart_and_offers_both(as_alice, alice, reveal, wordnet):
    crowd.make(alice, factories.make_dataset(alice, "lake"), wordnet)

    page = html_of(as_alice.get(reverse("evaluation:benchmarks")))

    assert "CDS · 0 submissions · 3 objects in 6 sequences, of Cats" in page
    assert "MAD competition · 3 submissions" in page
    assert NEW in page
    assert reverse("evaluation:new", args=["mad"]) in page


def test_the_list_asks_the_same_queries_however_many_there_are(
    as_alice, alice, cats, django_assert_num_queries
):
    page = reverse("evaluation:benchmarks")
    counts = []
    for number in range(2):
        for again in range(1 + 2 * number):
            made = world.make(alice, cats, name=f"reveal-{number}-{again}")
            world.run_by_hand(made, alice)
        with django_assert_num_queries(7, exact=False) as queries:
            as_alice.get(page)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_page_of_predictions_asks_few_queries(
    as_alice, alice, reveal, django_assert_max_num_queries
):
    world.run_by_hand(reveal, alice)

    with django_assert_max_num_queries(8):
        as_alice.get(SUBMISSIONS)


def test_the_page_of_a_benchmark_asks_as_much_for_many_objects_as_for_few(
    as_alice, alice, reveal, django_assert_num_queries
):
    large = world.make(
        alice, reveal.campaign, name="large", content_schemes=results.CONTENTS, include_empty=True
    )
    counts = []
    for made in (reveal, large):
        world.run_by_hand(made, alice)
        with django_assert_num_queries(14, exact=False) as queries:
            as_alice.get(reverse("evaluation:benchmark", args=[made.name]))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_only_parts_campaigns_that_i_research_in_are_offered(
    as_alice, alice, bob, cats, coots, dataset
):
    stranger = factories.make_user("other", is_researcher=True)

    mine = as_alice.get(NEW).context["form"]
    theirs = logged_in(stranger).get(NEW).context["form"]

    assert list(mine.fields["campaign"].queryset) == [cats]
    assert not theirs.fields["campaign"].queryset.exists()
    page = html_of(logged_in(stranger).get(NEW))
    assert "You are not a researcher of any campaign in which people draw parts." in page


def test_another_persons_campaign_cannot_be_chosen(cats):
    stranger = factories.make_user("other", is_researcher=True)

    answer = logged_in(stranger).post(NEW, form(cats, create="1"))

    assert answer.status_code == 422
    assert answer.context["form"].errors["campaign"]
    assert not Benchmark.objects.exists()


def test_what_would_be_revealed_comes_before_anything_is_made(as_alice, alice, cats):
    freezing.freeze(cats, alice)

    answer = as_alice.post(NEW, form(cats, check="1"))

    assert answer.status_code == 200
    plan = answer.context["plan"]
    assert (plan.objects, plan.sequences) == (3, 6)
    page = html_of(answer)
    assert "objects of release 1" in page
    assert "Create benchmark" in page
    assert not Benchmark.objects.exists()


def test_a_campaign_without_a_release_says_that_one_is_frozen(as_alice, cats):
    answer = as_alice.post(NEW, form(cats, check="1"))

    assert "The campaign has no release yet." in html_of(answer)
    assert not cats.releases.exists()


def test_a_benchmark_is_made_by_the_form(as_alice, cats):
    answer = as_alice.post(NEW, form(cats, create="1", include_empty="on", by="word"))

    made = Benchmark.objects.get()
    assert answer.url == SUBMISSIONS
    assert made.settings["part_schemes"] == ["random"]
    assert made.settings["content_schemes"] == ["intra-object", "low"]
    assert (made.settings["include_empty"], made.settings["by"]) == (True, "word")
    assert made.settings["mapping"] is None


def test_files_wait_for_the_second_step(as_alice, alice, cats, wordnet):
    page = NEW
    files = {"orders": orders_file(cats), "mapping": mapping_file(f"{CAT},{CAT}", f"{COW},{COW}")}
    first = as_alice.post(page, form(cats, check="1", **files))

    answer = as_alice.post(page, form(cats, create="1", **factories.kept_in(first)))

    assert answer.status_code == 302
    stated = Benchmark.objects.get().settings
    assert stated["part_schemes"] == ["mine", "random"]
    assert stated["mapping"] == {CAT: [CAT], COW: [COW]}
    assert "Kept: <b>orders.json</b>" in html_of(first)
    assert list(kept_files._folder().iterdir()) == []


def test_the_random_order_may_be_left_out(as_alice, cats):
    sent = form(cats, create="1", orders=orders_file(cats))
    del sent["random"]

    as_alice.post(NEW, sent)

    assert Benchmark.objects.get().settings["part_schemes"] == ["mine"]


def test_faults_are_told_beside_their_fields(as_alice, cats):
    for changes, field, message in [
        ({"name": "Two words"}, "name", "slug"),
        ({"name": "new"}, "name", "cannot be a name"),
        ({"campaign": ""}, "campaign", "required"),
        ({"random": ""}, "random", "Choose the random order"),
        ({"bootstrap": 10_001}, "bootstrap", "10000"),
        ({"measure": "res"}, "measure", "res is not one of"),
    ]:
        answer = as_alice.post(NEW, form(cats, create="1", **changes))

        assert answer.status_code == 422, changes
        assert message in answer.context["form"].errors[field][0], changes
        assert not Benchmark.objects.exists(), changes


def test_faults_of_files_are_told_with_their_place(as_alice, cats, wordnet):
    page = NEW
    strange = orders_file(cats, "cats.json", **{CAT: ["head", "wing", "leg", "tail"]})

    orders = as_alice.post(page, form(cats, create="1", orders=strange))
    mapping = as_alice.post(page, form(cats, create="1", mapping=mapping_file(f"{CAT},dog")))
    short = as_alice.post(page, form(cats, create="1", mapping=mapping_file(f"{CAT},{CAT}")))

    assert orders.status_code == mapping.status_code == short.status_code == 422
    [message] = orders.context["form"].errors["orders"]
    assert message.startswith("cats.json: ")
    assert "wing" in message
    [message] = mapping.context["form"].errors["mapping"]
    assert message.startswith("mapping.csv, line 2: 'dog' is not a noun")
    [message] = short.context["form"].errors["mapping"]
    assert f"no class for {COW} (cow)" in message
    assert not Benchmark.objects.exists()


def test_the_page_tells_columns_the_command_and_who_is_here(reveal, as_alice, alice):
    world.run_by_hand(reveal, alice)

    response = as_alice.get(SUBMISSIONS)

    page = html_of(response)
    first_rows = "frame,classifier,wnid\ncats/0.png/cat-1/random/intra-object/01,resnet50"
    assert first_rows in response.content.decode()
    assert "manage.py classify cats --number 1" in page
    assert "--content-scheme intra-object" in page
    assert "New predictions replace the earlier ones of the same classifier" in page
    for name in ("alpha", "beta", "gamma"):
        assert f'<th scope="row">{name}</th>' in page


def test_the_same_predictions_again_are_not_scored_again(wordnet, reveal, as_alice, run_jobs):
    rows = world.rows_of(reveal, alpha=world.always_right)
    for _ in range(2):
        answer = as_alice.post(SUBMISSIONS, {"file": world.upload(rows)}, follow=True)

    assert "The file is already here; nothing changed." in html_of(answer)
    assert Run.objects.count() == 1


def test_missing_frames_are_counted_on_the_page(wordnet, reveal, as_alice):
    rows = world.rows_of(reveal, alpha=world.always_right)[2:]

    answer = as_alice.post(SUBMISSIONS, {"file": world.upload(rows)}, follow=True)

    assert "alpha lacks 2 frames; missing frames count as wrong." in html_of(answer)
    assert "2 missing frames" in html_of(as_alice.get(SUBMISSIONS))


def test_bad_predictions_are_refused_beside_the_field(wordnet, reveal, as_alice):
    rows = world.rows_of(reveal, alpha=world.always_right)
    rows[2][0] = "nowhere/01"

    answer = as_alice.post(SUBMISSIONS, {"file": world.upload(rows, "mine.csv")})

    assert answer.status_code == 422
    [message] = answer.context["form"].errors["file"]
    assert message.startswith("mine.csv, line 4: no sequence has the frame 'nowhere/01'; ")
    assert not reveal.submissions.exists()
    assert not Run.objects.exists()
    assert list(factories.kept_in(answer)) == ["file_kept"]


def test_a_file_that_is_too_large_is_refused(reveal, as_alice, monkeypatch):
    monkeypatch.setattr(kept_files, "MAX_BYTES", 10)

    answer = as_alice.post(SUBMISSIONS, {"file": world.upload([])})

    assert answer.status_code == 422
    assert "larger than" in answer.context["form"].errors["file"][0]


def test_a_classifier_is_removed_and_the_rest_scored(wordnet, reveal, alice, as_alice, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.always_right)

    answer = as_alice.post(REMOVE, follow=True)

    assert "alpha was removed." in html_of(answer)
    assert list(reveal.submissions.values_list("name", flat=True)) == ["beta"]
    assert Run.objects.get().requested_by == alice


def test_without_a_last_classifier_nothing_is_scored(wordnet, reveal, alice, as_alice, tmp_path):
    world.add(reveal, alice, tmp_path, alpha=world.always_right)

    as_alice.post(REMOVE)

    assert not Run.objects.exists()
    assert as_alice.post(REMOVE).status_code == 404


def test_its_campaign_links_to_the_benchmark(reveal, as_alice):
    page = html_of(as_alice.get(reverse("labeling:campaign", args=["cats"])))

    assert "benchmark Reveal" in page
    assert reverse("evaluation:benchmark", args=["reveal"]) in page


def test_the_command_on_the_page_shows_the_frames_of_the_benchmark(as_alice, alice, cats, tmp_path):
    reveal = world.make(alice, cats, seed=7, include_empty=True)
    page = as_alice.get(SUBMISSIONS)
    (tmp_path / "orders.json").write_bytes(b"".join(as_alice.get(ORDERS)))
    words = shlex.split(page.context["command"].replace("\\\n", " "))

    # All of it is understood,
    classify = load_command_class("evaluation", "classify")
    classify.create_parser(words[0], words[1]).parse_args(words[2:])
    # and what is said of frames gives the same ones.
    arguments = words[2 : words.index("--model")]
    arguments[arguments.index("orders.json")] = str(tmp_path / "orders.json")
    call_command("sequences", *arguments, "--lines-only", "--out", str(tmp_path / "out"))

    made = json.loads((tmp_path / "out" / "orders.json").read_text())
    assert made["orders"] == reveal.settings["orders"]
    lines = (tmp_path / "out" / "sequences.jsonl").read_text()
    assert lines == benchmarks.lines_path(reveal).read_text()
