"""The pages of a CDS result: the benchmark's, a run's, the objects, the viewer, the galleries."""

import json

import pytest
from django.urls import reverse

from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.kinds.cds import answer_index, benchmarks, pages, sequence_pages
from evaluation.benchmarks.kinds.cds.tables import TABLES
from evaluation.models import Benchmark, Run
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds.result import AnsweredSequence
from evaluation.scoring.cds.wording import content_scheme
from tests.clients import html_of, read
from tests.evaluation.cds import results, world

pytestmark = pytest.mark.django_db


@pytest.fixture
def reveal(alice, bob, dataset) -> Benchmark:
    campaign = world.campaign_of(alice, bob, dataset)
    return world.make(alice, campaign, content_schemes=results.CONTENTS)


@pytest.fixture
def run(reveal, alice, tmp_path, wordnet, run_jobs) -> Run:
    """Two classifiers scored: early is right from the first frame on, late at the last only."""
    world.add(reveal, alice, tmp_path, early=world.always_right, late=world.right_at_last)
    made = runs.request(reveal, alice)
    run_jobs()
    made.refresh_from_db()
    assert made.state == Run.State.DONE, made.error
    return made


def address(name: str, run: Run, *args) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.name, run.pk, *args])


def test_page_says_which_classifier_needs_least(run, as_alice):
    page = read(as_alice, reverse("evaluation:benchmark", args=["reveal"]))

    assert "lowest in 4 of them" in page
    # So few objects that no test tells anybody apart, however clear it looks.
    assert "No classifier is confirmed to need the least" in page
    assert "No order is confirmed" in page
    for text in ("wup", "20 rounds over images, seed 0", run.release.sha256, "Scored"):
        assert text in page


def test_made_results_have_the_shapes_of_a_real_one(run):
    """What the tests of tables and figures stand on."""
    real, made = run.result, results.stored()

    assert set(made) - set(real) == set()
    for name, rows in real["tables"].items():
        if rows and name != "averaging":
            assert set(made["tables"][name][0]) <= set(rows[0]), name


def test_averaging_is_switched_by_the_address(run, as_alice):
    path = reverse("evaluation:benchmark", args=["reveal"])

    text, script = as_alice.get(path), as_alice.get(path, {"averaging": "script"})

    assert text.context["chosen"].averaging == "text"
    assert script.context["chosen"].averaging == "script"
    assert "content.svg?averaging=script&amp;theme=dark" in html_of(script)
    assert as_alice.get(path, {"averaging": "<b>"}).context["chosen"].averaging == "text"


def test_categories_and_parts_have_the_names_of_the_release(reveal):
    names = pages.names_of(reveal)

    assert names.categories[world.CAT] == "cat"
    assert list(names.parts[world.CAT].values()) == ["head", "torso", "leg", "tail"]


def test_without_a_classifier_the_page_says_what_to_do(reveal, as_alice):
    page = read(as_alice, reverse("evaluation:benchmark", args=["reveal"]))

    assert "No classifier yet" in page
    assert reverse("evaluation:submissions", args=["reveal"]) in page
    assert reverse("evaluation:cds_people", args=["reveal"]) in page


def test_result_json_has_every_sequence_and_every_table(run, as_alice):
    answer = as_alice.get(address("result_json", run))

    document = json.loads(b"".join(answer.streaming_content))
    assert answer["Content-Disposition"].startswith("attachment")
    assert set(document["tables"]) == {"averaging", *(table.name for table in TABLES)}
    assert len(document["sequences"]) == 2 * run.benchmark.settings["sequences"]
    assert set(document["sequences"][0]) >= {
        *("image", "category", "part_scheme", "content_scheme", "classifier", "cds", "b_cds")
    }
    assert document["similarity"] == "wup"


def test_files_that_are_gone_are_a_refusal_and_no_fault(run, as_alice):
    folder = folders.run_folder(run.benchmark, run.pk)
    for path in folder.iterdir():
        path.unlink()

    for name in ("result_json", "cds_sequences", "cds_objects", "cds_galleries"):
        answer = as_alice.get(address(name, run))
        assert answer.status_code == 400, name
        assert "Score the benchmark again" in html_of(answer)
    assert "The CDS of early is" in read(as_alice, address("run", run))


def test_objects_are_found_by_name_and_category(run, as_alice):
    path = address("cds_objects", run)

    everything = as_alice.get(path).context["rows"]
    cows = as_alice.get(path, {"category": world.COW}).context["rows"]
    object_rows = as_alice.get(path, {"q": "CATS/1"}).context["rows"]

    assert len(everything) == 3
    assert [row.thing.object for row in cows] == ["cow-1"]
    assert [row.thing.image for row in object_rows] == ["cats/1.png"]
    assert "No matching objects" in read(as_alice, path, q="<script>")


def test_objects_are_listed_at_the_schemes_asked_for(run, as_alice):
    index = answer_index.index(folders.run_folder(run.benchmark, run.pk) / "answers.jsonl")

    rows = as_alice.get(address("cds_objects", run), {"content": "low"}).context["rows"]

    assert {index.places[row.number].content_scheme for row in rows} == {"low"}
    assert all(row.cells[0].is_best and not row.cells[1].is_best for row in rows)


def test_an_index_is_read_again_once_the_file_changed(tmp_path):
    path = tmp_path / "answers.jsonl"
    line = {"image": 'a"b', "category": "c", "part_scheme": "p", "content_scheme": "low"}
    rows = [line | {"frames": ["1"], "object": "o", "answers": {"x": []}, "scores": {}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = answer_index.index(path)
    more = [*rows, {**rows[0], "object": ', "answers": {', "answers": {}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in more))

    after = answer_index.index(path)

    assert len(before.places) == 1
    assert after.objects[1] == ('a"b', ', "answers": {', "c")
    assert after.lines[1] == more[1]
    assert after.number_of('a"b', "o", None, "low") == 0
    assert after.number_of('a"b', "o", "q") is None


def test_viewer_tells_parts_weights_answers_and_scores(run, as_alice):
    page = as_alice.get(address("cds_viewer", run, 0), {"frame": "2"})

    frames, rows = page.context["frames"], page.context["rows"]
    count = len(frames)
    assert [frame.weight for frame in frames] == [(count - at) / count for at in range(count)]
    assert frames[-1].caption == "all the rest"
    assert [row.classifier for row in rows] == ["early", "late"]
    assert [cell.answer.right for cell in rows[1].cells] == [False] * (count - 1) + [True]
    assert rows[0].scores.cds == rows[0].scores.b_cds == 0
    assert rows[0].current.number == page.context["shown"].number == 2
    assert "dog" in html_of(page)


def test_missing_parts_say_that_the_frame_is_repeated(run, as_alice):
    path = folders.run_folder(run.benchmark, run.pk) / "answers.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    repeated = next(
        at for at, line in enumerate(lines) if len(set(line["frames"])) < len(line["frames"])
    )

    frames = as_alice.get(address("cds_viewer", run, repeated)).context["frames"]

    ids = lines[repeated]["frames"]
    for before, after, frame in zip(ids, ids[1:], frames[1:], strict=False):
        assert frame.repeats == (before == after)
        assert frame.caption.startswith("no ") == (before == after)


def answered(line: SequenceLine) -> AnsweredSequence:
    return AnsweredSequence.from_json(line.as_dict() | {"answers": {}, "scores": {}})


def test_a_first_part_that_is_missing_is_told_too(run):
    """Its frame shows no part and repeats nothing."""
    row = run.benchmark
    row.settings["orders"]["random"][world.CAT] = ["tail", "head", "leg"]
    line = answered(
        SequenceLine("i", world.CAT, "random", "low", ("a", "b", "b", "c"), present=1, parts=3)
    )

    frames = sequence_pages._frames(row, run, 0, line)

    assert [frame.caption for frame in frames] == [
        *("no tail here", "head", "no leg here", "all the rest")
    ]
    assert [frame.repeats for frame in frames] == [False, False, True, False]


def test_the_empty_frame_is_told(alice, bob, dataset):
    reveal = world.make(alice, world.campaign_of(alice, bob, dataset), include_empty=True)
    [line, *_] = benchmarks.lines_of(reveal)
    run = Run(benchmark=reveal, pk=1)

    frames = sequence_pages._frames(reveal, run, 0, answered(line))

    assert frames[0].caption == "no part yet"
    assert frames[-1].caption == "all the rest"
    assert len(frames) == len(line.frames)


def test_one_classifier_at_one_content_scheme_is_not_called_the_best_of_several(
    alice, bob, dataset, as_alice, tmp_path, wordnet, run_jobs
):
    campaign = world.campaign_of(alice, bob, dataset)
    reveal = world.make(alice, campaign, content_schemes=("intra-object",))
    world.add(reveal, alice, tmp_path, early=world.always_right)
    made = runs.request(reveal, alice)
    run_jobs()

    page = read(as_alice, address("run", made))

    assert "How much of the object early needs" in page
    assert "Add another classifier" in page
    for comparison in ("to need the least", "is confirmed", "lowest in", "Percentages"):
        assert comparison not in page


def test_without_a_mapping_nothing_is_right_or_wrong(
    alice, bob, dataset, as_alice, tmp_path, wordnet, run_jobs
):
    reveal = world.make(alice, world.campaign_of(alice, bob, dataset), mapping=None)
    world.add(reveal, alice, tmp_path, early=world.always_right, late=world.right_at_last)
    made = runs.request(reveal, alice)
    run_jobs()

    page = read(as_alice, address("run", made))
    viewer = as_alice.get(address("cds_viewer", made, 0))

    assert "The CDS of early is" in page
    assert "no mapping was given" in page
    assert "B-CDS by content scheme" not in page
    assert 'id="error"' not in page
    assert {cell.answer.right for cell in viewer.context["rows"][0].cells} == {None}
    assert "nothing is right or wrong here" in html_of(viewer)


def test_viewer_goes_to_other_objects_and_schemes(run, as_alice):
    index = answer_index.index(folders.run_folder(run.benchmark, run.pk) / "answers.jsonl")
    ways = as_alice.get(address("cds_viewer", run, 0)).context["ways"]
    entry = index.places[0]

    assert ways.previous is None
    assert index.places[ways.next].content_scheme == entry.content_scheme
    assert index.places[ways.next][1:3] != entry[1:3]
    assert index.places[ways.next_content].content_scheme == results.CONTENTS[1]
    assert ways.next_part == 0


def test_a_frame_that_is_none_is_the_nearest(run, as_alice):
    for frame in ["0", "99999", "-1", "x", "9" * 500]:
        page = as_alice.get(address("cds_viewer", run, 0), {"frame": frame})

        assert 1 <= page.context["shown"].number <= len(page.context["frames"]), frame


def test_a_sequence_that_is_none_is_not_found(run, as_alice):
    assert as_alice.get(address("cds_viewer", run, 10**6)).status_code == 404


def test_galleries_show_the_objects_and_lead_to_their_sequences(run, as_alice):
    page = as_alice.get(address("cds_galleries", run))

    galleries = page.context["galleries"]
    assert [gallery.name for gallery in galleries] == list(map(content_scheme, results.CONTENTS))
    tiles = [tile for group in galleries[0].groups.values() for tile in group]
    assert {tile.row.object for tile in tiles} == {"cat-1", "cow-1"}
    assert all(tile.picture and tile.number is not None for tile in tiles)
    assert html_of(page).count("<image ") > 0


def test_galleries_by_classifier_and_of_captchas(run, as_alice):
    by_classifier = as_alice.get(address("cds_galleries", run), {"form": "classifier"})
    result = run.result
    result["tables"]["captchas"] = [
        {
            **results.stored()["tables"]["captchas"][0],
            "image": "cats/0.png",
            "object": "cat-1",
            "part_scheme": "random",
            "pair_image": "cats/0.png",
            "pair_object": "cow-1",
        }
    ]
    run.save(update_fields=["result"])
    captchas = as_alice.get(address("cds_galleries", run), {"form": "captchas"})

    assert [gallery.name for gallery in by_classifier.context["galleries"]] == ["early", "late"]
    [row] = captchas.context["rows"]
    assert [frame.number for frame in row.frames] == [2, 3, 4]
    assert row.frames[0].url.endswith("?frame=2")
    assert row.pair is not None


def test_pages_ask_the_database_little(run, as_alice, django_assert_max_num_queries):
    for path in (
        address("cds_objects", run),
        address("cds_viewer", run, 0),
        address("cds_galleries", run),
    ):
        with django_assert_max_num_queries(12):
            assert as_alice.get(path).status_code == 200
