"""What every kind of benchmark keeps: made, submitted to, scored, shown and hidden the same way."""

import csv
import io
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from evaluation.benchmarks import runs
from evaluation.benchmarks.kind import BenchmarkKind, families, kind_of, kinds
from evaluation.models import Benchmark, Run
from labeling.jobs import kept_files
from labeling.models import Campaign
from labeling.web import tokens
from tests import factories
from tests.clients import html_of, logged_in, upload
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world as labeled
from tests.evaluation.cds import world as cds
from tests.evaluation.crowd import COOT, DRAKE

KINDS = tuple(kinds())
PAGES = ("benchmark", "submissions", "score")
OF_RUN = ("run", "result_json")


@dataclass
class Story:
    """A benchmark before anybody takes part, and what a first submission sends."""

    benchmark: Benchmark
    sent: dict[str, Any]


def make_mad(alice, bob, dataset, wordnet) -> Story:
    row = crowd.make(alice, dataset, wordnet)
    rows = crowd.joining()
    crowd.add_images(dataset, rows)
    return Story(row, {"selection": crowd.file_of(rows)})


def make_cds(alice, bob, dataset, wordnet) -> Story:
    row = cds.make(alice, cds.campaign_of(alice, bob, dataset))
    return Story(row, {"file": cds.upload(cds.rows_of(row, alpha=cds.always_right))})


def make_labeled(kind: str) -> Callable[..., Story]:
    def make(alice, bob, dataset, wordnet) -> Story:
        row = labeled.make(alice, labeled.campaign_of(alice, bob, dataset), kind)
        content = labeled.usual(row)
        if not isinstance(content, bytes):
            stream = io.StringIO()
            csv.writer(stream).writerows([labeled.HEADS[kind], *content])
            content = stream.getvalue().encode()
        name = "maps.zip" if kind == "wsol" else "predictions.csv"
        return Story(row, {"name": "alpha", "file": upload(name, content)})

    return make


STORIES: dict[str, Callable[..., Story]] = {
    "mad": make_mad,
    "cds": make_cds,
    **{name: make_labeled(name) for name in kinds() if name not in ("mad", "cds")},
}


@pytest.fixture(params=KINDS)
def story(request, alice, bob, dataset, wordnet) -> Story:
    return STORIES[request.param](alice, bob, dataset, wordnet)


@pytest.fixture
def scored(story, alice, run_jobs) -> Run:
    answer = logged_in(alice).post(page("submissions", story.benchmark), story.sent)
    assert answer.status_code == 302, answer.context["form"].errors
    assert list(kept_files._folder().iterdir()) == []
    return score(story.benchmark, alice, run_jobs)


def score(benchmark: Benchmark, alice, run_jobs) -> Run:
    campaign = benchmark.campaign
    if campaign.kind == "contains":
        crowd.answer(campaign, crowd.people_of(campaign), crowd.right_is(COOT, DRAKE))
    runs.request(benchmark, alice)
    run_jobs()
    run = benchmark.runs.first()
    assert run is not None
    assert run.state == Run.State.DONE, run.error
    return run


def page(name: str, benchmark: Benchmark, *args: Any) -> str:
    return reverse(f"evaluation:{name}", args=[benchmark.name, *args])


def reads(run: Run) -> Iterator[str]:
    """Every address that all kinds have, of what this one declares."""
    row = run.benchmark
    kind = kind_of(row)
    result = kind.result_of(row, run)
    assert result is not None
    yield from (page(name, row) for name in ("benchmark", "submissions"))
    yield from (page(name, row, run.pk) for name in OF_RUN)
    yield from (page("file", row, name) for name in kind.files)
    # This one needs a second version of the truth.
    files = [name for name in kind.run_files if name != "newest.jsonl"]
    yield from (page("run_file", row, run.pk, name) for name in files)
    yield from (page("result_csv", row, run.pk, table.name) for table in kind.tables)
    yield from (page("figure", row, run.pk, name, "svg") for name in kind.figures(result))


def test_a_first_submission_is_scored_and_shown_to_nobody_else(scored, alice, charlie):
    client, row = logged_in(alice), scored.benchmark
    kind = kind_of(row)

    page_shown = client.get(page("benchmark", row))
    gone = [
        page("result_csv", row, scored.pk, "nothing"),
        page("figure", row, scored.pk, "nothing", "svg"),
        page("file", row, "nothing.zip"),
        page("run_file", row, scored.pk, "nothing.jsonl"),
    ]

    for address in reads(scored):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert b"".join(answer), address
    for name in kind.figures(kind.result_of(row, scored)):
        assert page("figure", row, scored.pk, name, "svg") in html_of(page_shown)
    assert [client.get(address).status_code for address in gone] == [404] * len(gone)
    assert row.submissions.exists()
    assert_nobody_else_finds(scored, charlie)


def assert_nobody_else_finds(scored: Run, charlie) -> None:
    row = scored.benchmark
    stranger = factories.make_user("other", is_researcher=True)
    factories.make_campaign(
        stranger, factories.make_dataset(stranger, "far"), "elsewhere", images=1
    )
    reviewer = factories.make_user("reviewer")
    factories.join(reviewer, row.campaign, "reviewer")
    staff = logged_in(factories.make_user("staff", is_staff=True))
    people = [logged_in(user) for user in (charlie, stranger, reviewer)]
    count, present = Run.objects.count(), row.submissions.count()
    actions = (page("score", row), page("remove", row, 0), page("submissions", row))

    for address in reads(scored):
        assert [client.get(address).status_code for client in people] == [404] * 3, address
        assert Client().get(address).url.startswith("/accounts/login/"), address
        assert b"".join(staff.get(address)), address
    for address in actions:
        assert [client.post(address).status_code for client in people] == [404] * 3, address
        assert Client().post(address).url.startswith("/accounts/login/"), address
    assert [staff.get(address).status_code for address in actions[:2]] == [405] * 2
    assert (Run.objects.count(), row.submissions.count()) == (count, present)


def test_the_page_moves_only_when_something_did(story, alice):
    client, row = logged_in(alice), story.benchmark
    address, htmx = page("benchmark", row), {"HX-Request": "true"}
    seen = client.get(address).context["seen"]

    still = client.get(address, {"seen": seen}, headers=htmx)
    row.runs.create(state=Run.State.FAILED, error="The truth is gone.")
    moved = client.get(address, {"seen": seen}, headers=htmx)

    assert still.status_code == 204
    assert "The truth is gone." in html_of(moved)
    assert b"<html" not in moved.content


def test_submissions_by_programs_are_listed_and_the_same_again_is_none(story, alice):
    _, secret = tokens.create_token(alice, scope="write")
    client, headers = Client(), {"Authorization": f"Bearer {secret}"}
    address = f"/api/v1/benchmarks/{story.benchmark.name}/submissions/"
    sent = {"file" if key == "selection" else key: value for key, value in story.sent.items()}

    joined = client.post(address, sent, headers=headers)
    sent["file"].seek(0)
    again = client.post(address, sent, headers=headers)
    submissions = client.get(address, headers=headers).json()["results"]

    assert joined.status_code == 201, joined.content
    assert joined.json()["joined"]
    assert again.json() == {"joined": []}
    assert {row["name"] for row in submissions} >= set(joined.json()["joined"])


def test_only_those_with_the_right_make_one(alice, bob):
    for family in families():
        address = reverse("evaluation:new", args=[family])

        assert logged_in(alice).get(address).status_code == 200, family
        assert logged_in(bob).get(address).status_code == 403, family
        assert Client().get(address).status_code == 302, family
    assert logged_in(alice).get(reverse("evaluation:new", args=["nothing"])).status_code == 404


def test_addresses_of_earlier_versions_lead_on(alice, bob, dataset, wordnet):
    make_cds(alice, bob, dataset, wordnet)
    client = logged_in(alice)
    for old, goal in [
        ("/benchmarks/new/?name=x", "/benchmarks/new/mad/?name=x"),
        ("/benchmarks/new/released/", "/benchmarks/new/labeled/"),
        ("/benchmarks/reveal/predictions/", "/benchmarks/reveal/submissions/"),
        ("/benchmarks/reveal/classifiers/add/", "/benchmarks/reveal/submissions/"),
    ]:
        read, sent = client.get(old), client.post(old)

        assert (read.status_code, read["Location"]) == (301, goal), old
        assert (sent.status_code, sent["Location"]) == (308, goal), old
        assert logged_in(bob).get(old).status_code in (403, 404), old


TOY = """
    import hashlib
    from evaluation.benchmarks import folders
    from evaluation.benchmarks.kind import BenchmarkKind
    from evaluation.benchmarks.tables import Column, Table
    from evaluation.models import Benchmark
    from labeling.releases import freezing

    class Toy(BenchmarkKind):
        family, names, title = "toy", ("toy",), "toy benchmark"
        submission_form = "evaluation.benchmarks.forms.NamedSubmissionForm"
        tables = (
            Table(
                "lengths",
                lambda result: result["rows"],
                (Column("classifier", "Classifier", is_number=False), Column("length", "Length")),
            ),
        )

        def create(self, owner, **chosen):
            release = freezing.freeze(chosen["campaign"], owner)
            return Benchmark.objects.create(
                kind="toy", release=release, created_by=owner, **chosen
            )

        def accept(self, benchmark, actor, path, file_name, name=""):
            content = path.read_bytes()
            folders.folder_of(benchmark).mkdir(parents=True)
            (folders.folder_of(benchmark) / name).write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            benchmark.submissions.create(
                name=name, position=0, sha256=digest, submitted_by=actor
            )
            return [name]

        def prepare(self, benchmark, run):
            return benchmark.own_release

        def score(self, benchmark, release, run):
            sizes = [
                (row.name, (folders.folder_of(benchmark) / row.name).stat().st_size)
                for row in benchmark.submissions.all()
            ]
            return {"rows": [{"classifier": name, "length": size} for name, size in sizes]}

        def fingerprint(self, benchmark):
            return {"files": list(benchmark.submissions.values_list("name", "sha256"))}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch, settings) -> Iterator[None]:
    """A kind in a package of its own, known by the settings alone."""
    package = tmp_path / "toy_benchmark"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kind.py").write_text(textwrap.dedent(TOY))
    monkeypatch.syspath_prepend(tmp_path)
    settings.ASSAY_BENCHMARK_KINDS = [*settings.ASSAY_BENCHMARK_KINDS, "toy_benchmark.kind.Toy"]
    yield
    for name in [name for name in sys.modules if name.startswith("toy_benchmark")]:
        del sys.modules[name]


def test_a_kind_is_added_by_a_package_and_a_line_of_settings(toy, alice, bob, dataset, run_jobs):
    campaign: Campaign = labeled.campaign_of(alice, bob, dataset)
    client = logged_in(alice)
    form = {"title": "Sizes", "name": "sizes", "campaign": campaign.name}

    made = client.post(reverse("evaluation:new", args=["toy"]), form | {"create": "1"})
    row = Benchmark.objects.get(kind="toy")
    empty = html_of(client.get(page("benchmark", row)))
    sent = {"name": "alpha", "file": upload("a.csv", b"12345")}
    joined = client.post(page("submissions", row), sent)
    run_jobs()
    run = row.runs.get()
    page_shown = html_of(client.get(page("benchmark", row)))
    table = html_of(client.get(page("result_csv", row, run.pk, "lengths")))

    assert made.url == page("submissions", row)
    assert "No submissions yet" in empty
    assert joined.url == page("benchmark", row)
    assert run.state == Run.State.DONE, run.error
    assert '<th scope="row">alpha</th><td class="number">5</td>' in page_shown
    assert table == "classifier,length\nalpha,5\n"
    for address in reads(run):
        assert client.get(address).status_code == 200, address
        assert logged_in(bob).get(address).status_code == 404, address
    assert "Toy benchmark · 1 submission" in html_of(client.get("/benchmarks/"))
    assert runs.rescore_changed() == []


class Lacking(BenchmarkKind):
    family, names, title = "lacking", ("lacking",), "lacking benchmark"


def test_a_kind_that_lacks_what_has_no_default_is_refused(settings):
    settings.ASSAY_BENCHMARK_KINDS = [f"{__name__}.Lacking"]

    with pytest.raises(ImproperlyConfigured, match="lacks create, accept, prepare, score"):
        kinds()


def test_a_benchmark_of_a_kind_that_settings_no_longer_name_says_which():
    with pytest.raises(ImproperlyConfigured, match="serves benchmarks of kind 'ludo'"):
        kind_of(Benchmark(kind="ludo"))


def test_two_kinds_may_not_serve_one_name(settings):
    settings.ASSAY_BENCHMARK_KINDS = settings.ASSAY_BENCHMARK_KINDS[:1] * 2

    with pytest.raises(ImproperlyConfigured, match="and so does another"):
        kinds()


def test_a_site_may_do_without_any_kind(tmp_path):
    (tmp_path / "fewer.py").write_text(
        "from annotator.settings import *\nASSAY_BENCHMARK_KINDS = []\n"
    )
    code = (
        "import django; django.setup(); from django.urls import reverse; "
        "print(reverse('api:benchmarks'), reverse('evaluation:benchmarks'))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{tmp_path}:{settings.BASE_DIR}",
            "DJANGO_SETTINGS_MODULE": "fewer",
            "ASSAY_DATA": str(tmp_path),
            "SECRET_KEY": "of this test",
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["/api/v1/benchmarks/", "/benchmarks/"]
