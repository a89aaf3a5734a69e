"""The pages of benchmarks on released labels: forms, results of every kind, images, access."""

import csv
import io
import json
import re

import pytest
from django.urls import reverse

from evaluation.benchmarks import runs
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.labeled import benchmarks, running, tables
from evaluation.benchmarks.kinds.labeled.kind import Labeled
from evaluation.models import Benchmark, Run
from labeling.models import Campaign, Image
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, read, upload
from tests.evaluation.benchmarks.kinds.labeled import results, world
from tests.evaluation.benchmarks.kinds.labeled.results import CAT, COW

pytestmark = pytest.mark.django_db
KINDS = tuple(results.SCORES)
OUTCOMES = {
    "classification": {"labels": [COW, CAT], "top1": False, "top5": True, "height": 3, "rank": 2},
    "localization": {
        "labels": [CAT],
        "boxes": [[9, 9, 40, 40]],
        "iou": 0.4,
        "class_right": True,
        "right": False,
    },
    "detection": {
        "found": [[CAT, 0.9, 8, 6, 50, 40, True, 0.9], [COW, 0.4, 0, 0, 9, 9, False, 0.0]],
        "missed": [[CAT, 2, 2, 9, 9]],
    },
    "wsol": {
        "max_box_acc": {"iou": 0.6, "box": [0, 0, 5, 5], "right": True},
        "0.7": {"iou": 0.6, "box": None, "right": False},
        "px_acc": 0.9,
    },
}


@pytest.fixture
def scored(alice, cats):
    """Makes a benchmark of a kind with a run by hand, of 30 images of which three are there."""

    def make(kind: str, *values: float | None, **fields) -> Run:
        row = Benchmark.objects.create(
            name=kind,
            title=kind.title(),
            kind=kind,
            campaign=cats,
            release=freezing.freeze(cats, alice),
            settings=results.SETTINGS[kind].to_json() | {"truth": results.TRUTH.to_json()},
            created_by=alice,
        )
        result = results.result(kind, *values).to_json() | fields
        curves = result.pop("curves")
        for position, submission in enumerate(result["submissions"]):
            row.submissions.create(
                name=submission["name"],
                position=position,
                sha256=f"{position}" * 64,
                submitted_by=alice,
            )
        run = Run.objects.create(
            benchmark=row,
            release=row.release,
            state=Run.State.DONE,
            result=result,
            requested_by=alice,
            finished_at=row.created_at,
        )
        write_files(run, curves)
        return run

    return make


def write_files(run: Run, curves) -> None:
    path = running.images_path(run.benchmark, run.pk)
    path.parent.mkdir(parents=True)
    names = [submission["name"] for submission in run.result["submissions"]]
    kind = run.benchmark.kind
    truth = [[8, 6, 50, 40] + ([] if kind == "wsol" else [CAT])]
    lines = [
        {
            "image": f"cats/{at}.png",
            "classes": [CAT],
            "truth": [] if kind == "classification" else truth,
            "outcomes": dict.fromkeys(names, OUTCOMES[kind]),
        }
        for at in range(30)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if curves:
        (path.parent / running.CURVES).write_text(json.dumps(curves))


def address(name: str, run: Run, *args) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.name, run.pk, *args])


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_every_kind_has_its_numbers_tables_and_figures(kind, scored, as_alice):
    run = scored(kind)

    page = read(as_alice, reverse("evaluation:benchmark", args=[kind]))

    best = "beta" if kind in ("detection", "wsol") else "alpha"
    # Made by hand, of five images: the one that stands first is not surely the best.
    assert f"{best} <strong>" in page
    assert "No submission is confirmed to be the best" in page or f"{best} is the best" in page
    result = kind_of(run.benchmark).result_of(run.benchmark, run)
    for name in Labeled(result.kind).figures(result):
        assert address("figure", run, name, "svg") in page, name
    for table in Labeled(result.kind).filled_tables(result):
        assert address("result_csv", run, table.name) in page, table.name
    assert address("labeled_images", run) in page
    assert f"{best} <strong>" in read(as_alice, address("run", run))


def test_a_page_says_where_a_result_was_computed_where_the_result_does(scored, as_alice):
    run = scored("wsol", 0.5)
    before = read(as_alice, address("run", run))
    run.result["device"] = "cuda:1"
    run.save()

    after = read(as_alice, address("run", run))

    assert "<dt>Code</dt><dd>1</dd>" in before
    assert "<dt>Code</dt><dd>1, on cuda:1</dd>" in after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [(None,), (0.2, None)])
def test_nulls_are_dashes_and_never_a_fault(kind, values, scored, as_alice):
    run = scored(kind, *values)

    page = read(as_alice, reverse("evaluation:benchmark", args=[kind]))

    # A random token may have any letters.
    words = re.sub(r'(value|nonce)="[^"]*"', "", page)
    assert re.findall(r"None|\bnan\b", words) == []
    for name in (table.name for table in tables.TABLES):
        assert as_alice.get(address("result_csv", run, name)).status_code == 200


def test_a_run_of_nobody_says_that_no_number_could_be_made(scored, as_alice):
    run = scored("wsol", None, submissions=[])

    assert "No results" in read(as_alice, address("run", run))


def test_a_test_split_that_was_scored_again_is_warned_about(scored, as_alice):
    page = read(as_alice, address("run", scored("localization")))

    assert "A test split was scored more than once" in page
    assert "scored on it 2 times" in page


def test_numbers_lead_to_the_images_behind_them(scored, as_alice):
    run = scored("localization")

    page = read(as_alice, address("run", run))

    assert f"{address('labeled_images', run)}?classifier=alpha&amp;number=error" in page
    assert f"&amp;class={CAT}" in page


def test_without_its_images_a_run_is_still_read(scored, as_alice):
    run = scored("localization")
    running.images_path(run.benchmark, run.pk).unlink()

    page = read(as_alice, address("run", run))

    assert "alpha <strong>" in page
    assert "score again to see them" in page
    for name in ("labeled_images", "released_lines"):
        answer = as_alice.get(address(name, run))
        assert answer.status_code == 400
        assert "Score the benchmark again" in html_of(answer)


def test_states_before_a_score_say_what_to_do(alice, cats, as_alice, tmp_path):
    row = world.make(alice, cats)
    path = reverse("evaluation:benchmark", args=[row.name])

    assert "There are no submissions yet" in read(as_alice, path)
    world.submit(row, alice, tmp_path)
    assert "1 submission waits" in read(as_alice, path)
    run = runs.request(row, alice)
    page = as_alice.get(path)
    assert "The score waits for a worker" in html_of(page)
    assert b'hx-trigger="every 2s"' in page.content
    assert "No result yet" in read(as_alice, address("run", run))


def test_files_of_a_result_come_whole(scored, as_alice):
    run = scored("wsol")

    whole = as_alice.get(address("result_json", run))
    document = json.loads(b"".join(whole.streaming_content))
    lines = b"".join(as_alice.get(address("released_lines", run)).streaming_content)
    table = read(as_alice, address("result_csv", run, "curves"))
    figure = as_alice.get(address("figure", run, "curves", "png"), {"download": ""})

    assert document["kind"] == "wsol"
    assert set(document["curves"]) == {"alpha", "beta"}
    assert len(lines.splitlines()) == 30
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["submission"] for row in rows} == {"alpha", "beta"}
    assert figure["Content-Disposition"].endswith(f'filename="wsol-run-{run.pk}-curves.png"')


@pytest.mark.parametrize("kind", KINDS)
def test_images_come_in_pages_with_what_was_said_of_each(kind, scored, as_alice):
    run = scored(kind)
    path = address("labeled_images", run)

    first = as_alice.get(path)
    second = as_alice.get(path, {"page": "2"})

    assert len(first.context["cards"]) == 24
    assert len(second.context["cards"]) == 6
    page = html_of(first)
    there = Image.objects.get(name="cats/1.png")
    assert reverse("labeling:thumbnail", args=[there.dataset.name, there.pk]) in page
    assert "This photograph left the dataset" in page
    response = read(as_alice, address("labeled_image", run, 1))
    assert address("labeled_photo", run, 1) in response
    assert "cats/1.png" in response


def test_cases_and_classes_narrow_the_images_down(scored, as_alice):
    run = scored("detection")
    path = address("labeled_images", run)

    def images_page(**query):
        return as_alice.get(path, {"classifier": "beta", "number": "ap"} | query)

    tabs = {tab.case.key: tab.images for tab in images_page().context["tabs"]}
    assert tabs == {"": 30, "hit": 30, "missed": 30, "false": 30, "near": 0, "far": 30}
    cows = images_page(**{"class": COW, "case": "false"})
    assert [tab.images for tab in cows.context["tabs"]] == [30, 0, 0, 30, 0, 30]
    card = cows.context["cards"][0]
    assert [shape.tone for shape in card["shapes"]] == ["wrong"]
    assert "No image is in this case" in html_of(images_page(**{"class": COW, "case": "hit"}))


def test_what_is_asked_for_in_vain_falls_back(scored, as_alice):
    run = scored("classification")
    for query in [
        {"classifier": "<b>nobody"},
        {"number": "nothing"},
        {"case": "nothing"},
        {"class": "n00000000"},
        {"page": "900000000000000000000"},
        {"page": "x"},
    ]:
        answer = as_alice.get(address("labeled_images", run), query)

        assert answer.status_code == 200, query
        assert answer.context["asked"].classifier == "alpha", query
        assert answer.context["asked"].number == "top1_error", query


def test_one_image_leads_to_the_next_of_its_case(scored, as_alice):
    run = scored("localization")
    query = {"classifier": "beta", "number": "error", "case": "place"}

    response = as_alice.get(address("labeled_image", run, 5), query)

    ways = response.context["ways"]
    assert (ways["at"], ways["of"]) == (6, 30)
    assert ways["next"].startswith(address("labeled_image", run, 6))
    assert "case=place" in ways["next"]
    assert 'data-key="arrowright"' in html_of(response)
    last = as_alice.get(address("labeled_image", run, 29), query)
    assert last.context["ways"]["next"] is None
    assert as_alice.get(address("labeled_image", run, 30)).status_code == 404
    assert as_alice.get(address("labeled_image", run, 10**17)).status_code == 404


def test_a_photograph_that_left_the_dataset_is_not_found(scored, as_alice):
    run = scored("localization")

    photo = as_alice.get(address("labeled_photo", run, 0))
    gone = as_alice.get(address("labeled_photo", run, 20))

    assert photo["Content-Type"].startswith("image/")
    assert gone.status_code == 404


def test_score_maps_are_pictures_while_they_are_those_of_the_run(alice, cats, as_alice, tmp_path):
    row = world.make(alice, cats, thresholds=10)
    run = world.run_of(row, alice)
    classifier = row.submissions.get().name
    path = address("labeled_map", run, 0)

    response = as_alice.get(path, {"classifier": classifier})

    assert response["Content-Type"] == "image/webp"
    assert as_alice.get(path, {"classifier": "nobody"}).status_code == 404
    assert path in read(as_alice, address("labeled_image", run, 0))
    content = world.maps_of(row, lambda _: world.ramp()[:, ::-1])
    world.submit(row, alice, tmp_path, classifier, content)
    assert as_alice.get(path, {"classifier": classifier}).status_code == 404
    page = read(as_alice, address("labeled_image", run, 0))
    assert "This score map was replaced after the run" in page


def new_form(chosen: Campaign, **fields) -> dict[str, str]:
    usual = {"campaign": chosen.name, "kind": "wsol", "name": "maps", "title": "Maps"}
    settings = {"split": "test", "protocol": "reference", "normalize": "max"}
    return usual | settings | {"size": "28", "thresholds": "50"} | fields


def test_new_shows_what_each_kind_would_stand_on(alice, cats, as_alice):
    path = reverse("evaluation:new", args=["labeled"])
    assert "no release yet" in read(as_alice, path)

    freezing.freeze(cats, alice)
    page = as_alice.get(path, {"campaign": cats.name})

    kinds = {choice.kind: choice for choice in page.context["kinds"]}
    assert set(kinds) == set(KINDS)
    assert kinds["detection"].truth.images > 0
    assert "left out" in html_of(page)


def test_a_kind_that_the_campaign_cannot_give_says_why(alice, dataset, bob, as_alice):
    campaign = factories.make_campaign(alice, dataset, "birds", images=2)

    page = as_alice.get(reverse("evaluation:new", args=["labeled"]), {"campaign": campaign.name})

    assert all(choice.fault for choice in page.context["kinds"])
    assert b"Not possible:" in page.content
    assert b"Create benchmark" not in page.content


def test_a_benchmark_is_made_with_the_settings_of_its_kind(alice, cats, as_alice):
    answer = as_alice.post(reverse("evaluation:new", args=["labeled"]), new_form(cats))

    made = Benchmark.objects.get(name="maps")
    assert answer["Location"] == reverse("evaluation:submissions", args=["maps"])
    assert made.kind == "wsol"
    assert benchmarks.chosen_of(made).protocol == "reference"
    assert made.settings["size"] == 28


def test_faults_of_the_form_are_said_and_nothing_is_made(cats, as_alice):
    for fields, message in [
        ({"kind": ""}, "Choose a kind."),
        ({"kind": "mad"}, "Select a valid choice"),
        ({"thresholds": "0"}, "greater than or equal to 1"),
        ({"name": "Not a name"}, "Enter a valid"),
        ({"title": " "}, "required"),
        ({"campaign": "another"}, "Select a valid choice"),
        ({"kind": "localization", "confidence": "2", "seed": "0"}, "less than or equal to 0.9999"),
    ]:
        answer = as_alice.post(
            reverse("evaluation:new", args=["labeled"]), new_form(cats, **fields)
        )

        assert answer.status_code == 422, fields
        assert message in html_of(answer), fields
        assert not Benchmark.objects.exists(), fields


def test_a_submission_comes_is_replaced_and_goes(alice, cats, as_alice):
    row = world.make(alice, cats, split="test", thresholds=10)
    path = reverse("evaluation:submissions", args=[row.name])
    assert "score on it once" in read(as_alice, path)
    first, second = (
        world.maps_of(row, lambda _, turned=turned: world.ramp()[:, ::turned]) for turned in (1, -1)
    )

    came = as_alice.post(path, {"name": "alpha", "file": upload("maps.zip", first)})
    again = as_alice.post(path, {"name": "alpha", "file": upload("maps.zip", first)})
    response = as_alice.post(path, {"name": "alpha", "file": upload("maps.zip", second)})

    assert came["Location"] == reverse("evaluation:benchmark", args=[row.name])
    assert again["Location"] == path
    assert response.status_code == 302
    assert row.submissions.get().attempts == 2
    assert '<span class="badge hard">2</span>' in read(as_alice, path)
    gone = as_alice.post(reverse("evaluation:remove", args=[row.name, 0]))
    assert gone["Location"] == path
    assert not row.submissions.exists()


def test_a_file_that_does_not_fit_is_refused_at_its_field(alice, cats, as_alice):
    row = world.make(alice, cats)
    path = reverse("evaluation:submissions", args=[row.name])
    for name, content in [
        ("alpha", b"no zip at all"),
        ("alpha", world.packed({"x.npy": b"1"})),
        ("", b"1"),
    ]:
        answer = as_alice.post(path, {"name": name, "file": upload("maps.zip", content)})

        assert answer.status_code == 422, name
        assert not row.submissions.exists(), name
        assert not Run.objects.exists(), name


def test_how_a_file_looks_is_said_about_an_image_of_the_truth(alice, cats, as_alice):
    row = world.make(alice, cats)

    page = read(as_alice, reverse("evaluation:submissions", args=[row.name]))

    assert "cats/1.png.npy" in page
    zipped = as_alice.get(reverse("evaluation:file", args=[row.name, "truth.zip"]))
    assert b"".join(zipped.streaming_content).startswith(b"PK")


def test_only_detection_says_that_an_image_may_have_no_row(scored, as_alice):
    for kind in KINDS:
        scored(kind)

        page = read(as_alice, reverse("evaluation:submissions", args=[kind]))

        assert ("an image without a row counts as one without detections" in page) == (
            kind == "detection"
        ), kind
        assert ("for every image of the truth" in page) == (kind != "detection"), kind


def test_a_benchmark_of_another_kind_has_none_of_these_pages(scored, as_alice):
    run = scored("localization")
    Benchmark.objects.update(kind="mad")

    path = reverse("evaluation:file", args=[run.benchmark.name, "truth.zip"])
    assert as_alice.get(path).status_code == 404
    for name in ("labeled_images", "released_lines"):
        assert as_alice.get(address(name, run)).status_code == 404
