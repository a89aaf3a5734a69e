"""Selections of pools on the site: plan, job, file, comparison, competition."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.models import Benchmark, Pool, PoolSelection
from evaluation.pools import choosing
from labeling.errors import NotAllowed, NotYours, Refusal
from labeling.jobs import child, queue
from labeling.models import Image, Job
from labeling.near_duplicates.fingerprints import VIEWS
from tests import factories
from tests.clients import API, program, read
from tests.evaluation.pool import CLASSES, read_lines
from tests.evaluation.pools.pool_rows import with_predictions

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet", "commands_here")]
SETTINGS = {
    "top_k": 5,
    "min_confidence": 0.6,
    "max_per_label": 2,
    "reserve": 3,
    "unique_pairs": False,
    "distance": "weighted",
}
PAGE = "/datasets/lake/pools/{}/selections/"
IN_A_PROCESS = child.manage
WORDS = [f"word {number}" for number in range(len(CLASSES))]


@pytest.fixture
def pool(alice, tmp_path) -> Pool:
    alice.is_researcher = True
    alice.save()
    return with_predictions(factories.make_dataset(alice, "lake"), tmp_path / "direct")


def select(pool: Pool, **changes: Any) -> PoolSelection:
    chosen = choosing.settings_of(pool, SETTINGS | changes)
    row = choosing.request(chosen, pool.created_by)
    queue.run(row.job_id)
    row.refresh_from_db()
    assert row.job.state == Job.State.DONE, row.job.error
    return row


def content_of(row: PoolSelection) -> bytes:
    with choosing.open_file(row) as file:
        return file.read()


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, []),
        ({"classifiers": ["gamma", "alpha"], "unique_pairs": True}, ["gamma,alpha"]),
        ({"distance": "zero-one"}, []),
    ],
)
def test_the_site_selects_what_the_command_selects(
    pool, tmp_path, shell, monkeypatch, changes, options
):
    monkeypatch.setattr(child, "manage", IN_A_PROCESS)

    row = select(pool, **changes)

    values = SETTINGS | changes
    arguments = [
        f"--{key.replace('_', '-')}={values[key]}" for key in SETTINGS if key != "unique_pairs"
    ]
    arguments += ["--unique-pairs"] * bool(values["unique_pairs"])
    arguments += [f"--classifiers={names}" for names in options]
    out = tmp_path / "shell.jsonl"
    shell.result("mad", "select", "--predictions", tmp_path / "direct", *arguments, "--out", out)
    head, body = content_of(row).split(b"\n", 1)
    assert body == read_lines(out)[2]
    assert body
    assert json.loads(head)["meta"] == read_lines(out)[0]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tree.csv", "child,parent\nroot,\n" + "".join(f"{name},root\n" for name in WORDS)),
        (
            "matrix.csv",
            ",".join(["", *WORDS])
            + "".join(
                f"\n{name}," + ",".join(str(abs(i - j)) for j in range(len(WORDS)))
                for i, name in enumerate(WORDS)
            ),
        ),
    ],
)
def test_a_tree_or_matrix_of_the_user_gives_the_distance(alice, tmp_path, shell, file, content):
    alice.is_researcher = True
    alice.save()
    pool = with_predictions(
        factories.make_dataset(alice, "lake"), tmp_path / "direct", classes=WORDS
    )

    row = select(pool, distances=SimpleUploadedFile(file, content.encode()))

    (tmp_path / file).write_text(content)
    arguments = [
        f"--{key.replace('_', '-')}={SETTINGS[key]}"
        for key in ("top_k", "min_confidence", "max_per_label", "reserve")
    ]
    out = tmp_path / "shell.jsonl"
    shell.result(
        *("mad", "select", "--predictions", tmp_path / "direct", *arguments),
        *("--distance", tmp_path / file, "--out", out),
    )
    assert content_of(row) == out.read_bytes()
    assert row.settings["distance"] == file


def test_a_plan_is_never_less_than_the_selection(pool):
    for changes in ({}, {"top_k": 30, "max_per_label": 1}):
        plan = choosing.plan(choosing.settings_of(pool, SETTINGS | changes))
        summary = choosing.summary_of(select(pool, **changes))

        most = {tuple(count.pair): count.images for count in plan.short}
        for count in summary.pairs:
            assert count.images <= most.get(tuple(count.pair), plan.images_per_pair)
        assert plan.pairs == len(summary.pairs) == 3
        assert summary.questions <= plan.questions == 2 * plan.images
        assert plan.estimate.answers >= plan.questions


def test_a_plan_counts_pairs_that_yield_fewer(pool):
    plan = choosing.plan(choosing.settings_of(pool, SETTINGS | {"min_confidence": 1}))

    assert [count.images for count in plan.short] == [0, 0, 0]
    assert (plan.images, plan.questions, plan.estimate.cost) == (0, 0, 0)


def test_equal_settings_are_one_selection(pool):
    first = select(pool)

    assert select(pool) == first
    assert select(pool, top_k=4) != first
    Job.objects.filter(pk=first.job_id).update(state=Job.State.FAILED)
    assert choosing.request(choosing.settings_of(pool, SETTINGS), pool.created_by) != first


def test_a_job_that_runs_twice_selects_once(pool, monkeypatch):
    row = select(pool)
    monkeypatch.setattr("labeling.jobs.child.manage", lambda *_, **__: pytest.fail("ran again"))

    choosing.execute(row.job)

    assert PoolSelection.objects.get().file == row.file


def test_near_duplicates_among_the_chosen_images_are_marked(pool):
    alike = Image.objects.exclude(pk=pool.dataset.images.earliest("pk").pk)
    views = b"".join(number.to_bytes(8, "little") for number in range(1, VIEWS + 1))
    alike.update(fingerprint=views)

    near = choosing.summary_of(select(pool)).near

    images = {
        json.loads(line)["image"]
        for line in content_of(PoolSelection.objects.get()).splitlines()[1:]
        if "reserve" not in json.loads(line)
    }
    assert {row.image for row in near} < images
    assert len({row.kept for row in near}) == 1


def test_two_selections_are_compared_by_image_and_pair(pool):
    first, second = select(pool), select(pool, top_k=2)

    overlap = choosing.compare(first, second)

    # The two best of each pair are among its five best.
    assert (overlap.lines_second, overlap.lines_both) == (6, 6)
    assert [(row.second, row.both) for row in overlap.pairs] == [(2, 2)] * 3
    assert overlap.images_both == overlap.images_second
    assert sum(row.first for row in overlap.pairs) == overlap.lines_first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classifiers": ["alpha"]}, "compares two classifiers or more"),
        ({"classifiers": ["alpha", "delta"]}, "no classifier 'delta'"),
        (
            {"distances": SimpleUploadedFile("tree.csv", b"child,parent\na,\n")},
            "classes.txt, line 1: 'n01440764' is not in tree.csv",
        ),
        (
            {"distances": SimpleUploadedFile("m.csv", b",a,b\na,0,1\nb,2,0\n")},
            "m.csv: a to b is 1, back it is 2",
        ),
    ],
)
def test_settings_that_do_not_fit_the_pool_are_refused(pool, changes, message):
    with pytest.raises(Refusal, match=message):
        choosing.request(choosing.settings_of(pool, SETTINGS | changes), pool.created_by)
    assert not PoolSelection.objects.exists()
    assert not Job.objects.exists()


def test_words_need_a_distance_that_takes_them(alice, tmp_path):
    alice.is_researcher = True
    pool = with_predictions(factories.make_dataset(alice, "lake"), tmp_path / "p", classes=WORDS)

    with pytest.raises(Refusal, match=r"line 1: 'word 0' is not a wnid .*; choose zero-one"):
        choosing.plan(choosing.settings_of(pool, SETTINGS))


def test_who_may_not_open_campaigns_may_not_select(pool, bob):
    with pytest.raises(NotAllowed):
        choosing.request(choosing.settings_of(pool, SETTINGS), bob)


def test_an_unmade_selection_has_no_file(pool):
    row = choosing.request(choosing.settings_of(pool, SETTINGS), pool.created_by)

    with pytest.raises(NotYours, match="not made yet"):
        choosing.open_file(row)


def test_the_page_plans_selects_and_makes_a_competition(pool, as_alice):
    page = PAGE.format(pool.pk)
    sent = {key: value for key, value in SETTINGS.items() if value is not False}

    planned = as_alice.post(page, {**sent, "plan": "1"})
    assert "pairs of 3 classifiers" in planned.content.decode()
    assert not PoolSelection.objects.exists()
    chosen = as_alice.post(page, {**sent, "select": "1"})
    row = PoolSelection.objects.get()
    assert chosen["Location"] == f"{page}{row.pk}/"
    assert "Waiting for a worker" in as_alice.get(chosen["Location"]).content.decode()
    queue.run(row.job_id)
    assert "HX-Refresh" in as_alice.get(f"{chosen['Location']}?fragment=1")
    select(pool, top_k=2)
    second = PoolSelection.objects.latest("pk")
    compared = as_alice.get(chosen["Location"], {"with": second.pk})
    assert compared.context["overlap"].lines_both == 6
    form = compared.context["form"]
    body = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    made = as_alice.post(chosen["Location"], body)

    assert made["Location"] == f"/benchmarks/{body['name']}/"
    benchmark = Benchmark.objects.get()
    assert benchmark.campaign.dataset == pool.dataset
    assert (
        benchmark.campaign.questions.count()
        == choosing.summary_of(PoolSelection.objects.get(pk=row.pk)).questions
    )
    assert as_alice.post(chosen["Location"], body).status_code == 302
    assert Benchmark.objects.count() == 1
    assert f'href="{chosen["Location"]}"' in read(as_alice, made["Location"])
    assert f'href="{made["Location"]}"' in read(as_alice, chosen["Location"])
    by_api = program(pool.created_by).get(f"{API}benchmarks/{benchmark.name}/").json()
    assert by_api["selection"] == row.pk


def test_a_selection_without_images_offers_no_competition(pool, as_alice):
    row = select(pool, min_confidence=1.0)

    page = as_alice.get(f"{PAGE.format(pool.pk)}{row.pk}/").content.decode()

    assert "No image is chosen" in page
    assert "Create competition" not in page


def test_the_api_plans_selects_and_makes_a_competition(pool, as_alice):
    api = f"/api/v1{PAGE.format(pool.pk)}"

    def post(path: str, body: dict[str, object]) -> Any:
        return as_alice.post(f"{api}{path}", json.dumps(body), "application/json")

    plan = post("plan/", SETTINGS).json()
    assert (plan["pairs"], plan["images_per_pair"]) == (3, 5)
    made = post("", SETTINGS)
    assert (made.status_code, made.json()["state"]) == (202, "queued")
    row = PoolSelection.objects.get()
    assert as_alice.get(f"{api}{row.pk}/selection.jsonl").status_code == 404
    queue.run(row.job_id)
    state = as_alice.get(f"{api}{row.pk}/").json()
    assert state["summary"]["pairs"][0]["pair"] == ["alpha", "beta"]
    file = as_alice.get(f"{api}{row.pk}/selection.jsonl")
    assert b"".join(file.streaming_content) == content_of(PoolSelection.objects.get())  # type: ignore[attr-defined]
    overlap = as_alice.get(f"{api}{row.pk}/overlap/{row.pk}/").json()
    assert overlap["lines_both"] == overlap["lines_first"]
    benchmark = post(f"{row.pk}/competition/", {"name": "lake-mad", "title": "Lake"})
    assert (benchmark.status_code, benchmark.json()["kind"]) == (201, "mad")
    defaults = post("plan/", {}).json()
    assert defaults["images_per_pair"] == 30
