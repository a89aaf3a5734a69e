"""The demonstration: loaded once or twice, it is ready to be labeled and scored."""

import random
import stat
from io import StringIO

import pytest
from django.core.management import call_command

from annotator.demo import build
from evaluation.benchmarks import runs
from evaluation.models import Benchmark
from labeling.assignment import claiming, gold_mixing
from labeling.campaigns import texts
from labeling.kinds import KINDS
from labeling.models import Campaign, Gold, Membership, Question, User
from labeling.quality import auditing, gold_results
from tests.annotator.crawler import Crawl, claims
from tests.annotator.truth import answer_everything
from tests.clients import logged_in, text_of

pytestmark = pytest.mark.usefixtures("benchmark")


@pytest.fixture(scope="module")
def _loaded(once):
    with once():
        build.load()


@pytest.fixture
def benchmark(_loaded, afresh) -> Benchmark:
    return Benchmark.objects.get(name="demo")


def test_it_can_be_labeled_at_once(benchmark):
    campaign = benchmark.campaign

    assert campaign.state == "open"
    assert 20 <= campaign.questions.for_consensus().count() <= 30
    for name in build.ANNOTATORS:
        assert claiming.next_page(User.objects.get(username=name), campaign).seats


def test_a_labeled_twin_has_its_ranks_at_the_first_click(client):
    twin = Benchmark.objects.get(name="demo-labeled")
    client.force_login(User.objects.get(username="alice"))

    page = client.get("/benchmarks/demo-labeled/").content.decode()
    gallery = client.get("/benchmarks/demo-labeled/pairs/0/3/").content.decode()

    assert "No ranks yet" not in page
    for name in ("ranks", "accuracy"):
        assert f'aria-labelledby="{name}"' in page, name
    assert "counterexample" in gallery
    run = twin.runs.get()
    ranks = dict(zip(run.result["classifiers"], run.result["ranks"], strict=True))
    assert (ranks["aurora"], ranks["drizzle"]) == (1, 4)
    assert run.result["pending"] == 0
    assert twin.campaign.state == "closed"
    # The one to be tried has the same questions, and no answer.
    demo = Benchmark.objects.get(name="demo")
    assert twin.settings["selection_sha256"] == demo.settings["selection_sha256"]
    assert not demo.runs.exists()


def test_a_load_that_was_killed_between_answers_and_score_goes_on():
    Benchmark.objects.get(name="demo-labeled").runs.all().delete()

    build.load()

    assert Benchmark.objects.get(name="demo-labeled").runs.get().state == "done"


def test_loading_twice_changes_nothing():
    accounts = build.accounts_file().read_text()
    counts = [m.objects.count() for m in (User, Benchmark, Question, Gold, Membership)]

    build.load()

    assert build.accounts_file().read_text() == accounts
    assert counts == [m.objects.count() for m in (User, Benchmark, Question, Gold, Membership)]


def test_everybody_listed_can_log_in_and_nobody_else_reads_the_list(client):
    passwords = build._passwords()
    assert set(passwords) == set(build.ACCOUNTS)
    for name, password in passwords.items():
        assert client.login(username=name, password=password)
    assert len(set(passwords.values())) == len(passwords)
    assert stat.S_IMODE(build.accounts_file().stat().st_mode) == 0o600


def test_a_password_that_its_owner_changed_stays():
    users = build.make_users()
    users["bob"].set_password("of my own choosing")
    users["bob"].save()

    build.make_users()

    assert User.objects.get(username="bob").check_password("of my own choosing")


def test_a_lost_list_of_accounts_is_written_again(client):
    build.make_users()
    build.accounts_file().unlink()

    build.make_users()

    assert client.login(username="bob", password=build._passwords()["bob"])


def test_roles_are_what_the_list_says():
    users = build.make_users()

    assert [n for n, u in users.items() if u.is_superuser] == ["admin"]
    assert [n for n, u in users.items() if u.is_researcher] == ["admin", "alice"]


def test_gold_is_on_images_that_are_not_asked_about(benchmark):
    campaign = benchmark.campaign

    images = set(campaign.questions.for_consensus().values_list("item__image__name", flat=True))
    gold = set(
        campaign.questions.filter(gold__isnull=False).values_list("item__image__name", flat=True)
    )

    assert gold
    assert not images & gold


def test_open_campaigns_have_words_in_german_and_chinese_until_others_are_given(benchmark):
    opened = Campaign.objects.filter(state="open")
    assert {tuple(campaign.languages) for campaign in opened} == {("de", "zh-hans")}
    campaign = benchmark.campaign
    assert not any(row.missing for row in texts.coverage(campaign))
    texts.replace(campaign, None, {"de": {"title": "Anders"}})

    build.load()

    assert texts.for_campaign(campaign) == {"de": {"title": "Anders"}}


def test_the_command_says_what_it_loaded():
    out = StringIO()

    call_command("demo", "--json", stdout=out)

    assert '"benchmark": "demo"' in out.getvalue()


@pytest.mark.ci
def test_five_people_rank_the_classifiers_and_drop_the_drawing(benchmark, run_jobs, monkeypatch):
    # Dealt by chance, gold would pass all five by once in a while.
    monkeypatch.setattr(gold_mixing, "chance", random.Random(0))
    campaign = benchmark.campaign
    run_jobs()
    assert not campaign.questions.filter(topic="n04485082").exists()

    # Twice round, for what takes the place of the drawing when the last of them has spoken.
    people = [User.objects.get(username=name) for name in build.ANNOTATORS]
    counts = [answer_everything(user, campaign, run_jobs) for user in (*people, *people)]

    assert min(counts[:5]) >= 20
    accuracies = [gold_results.accuracy(user, campaign) for user in people]
    assert all(share.right == share.total for share in accuracies)
    assert sum(share.total for share in accuracies) > 0

    # What took the drawing's place asks something that nobody was asked before.
    tripod = campaign.questions.get(item__image__name="camera.png", topic="n04485082")
    assert tripod.state == "settled"
    horse = campaign.questions.filter(item__image__name="horse.png")
    assert {question.state for question in horse} <= {"dropped", "withdrawn"}
    assert not campaign.questions.filter(state="open").exists()
    run = runs.request(benchmark, User.objects.get(username="alice"))
    run_jobs()
    run.refresh_from_db()
    assert run.state == "done", run.error
    ranks = dict(zip(run.result["classifiers"], run.result["ranks"], strict=True))
    assert ranks["aurora"] == 1
    assert ranks["drizzle"] == 4


IN_CI = [pytest.param(name, marks=pytest.mark.ci) for name in ("admin", "alice")]


@pytest.mark.parametrize("name", [*IN_CI, "bob", None])
def test_no_link_fails_or_needs_many_queries(name):
    User.objects.filter(username="bob").update(tutorials=list(KINDS))
    crawl = Crawl(User.objects.get(username=name) if name else None)

    crawl.pages()
    crawl.api()

    assert crawl.faults == []
    assert len(crawl.seen) > {"admin": 1_000, "alice": 1_000, "bob": 120, None: 10}[name]


def test_pages_state_a_label_error_only_with_its_basis():
    campaign = Campaign.objects.get(benchmarks__name="demo-labeled")
    alice = User.objects.get(username="alice")
    client = logged_in(alice)
    paths = [f"/campaigns/{campaign.name}/{page}" for page in ("", "quality/", "questions/")]
    question = campaign.questions.filter(state="settled").earliest("pk")
    paths.append(f"/campaigns/{campaign.name}/questions/{question.pk}/")

    for path in paths:
        assert "not measured" in text_of(client.get(path)).lower(), path
    auditing.draw(campaign, alice, 20, seed=0)
    while (audit := auditing.next_for(alice, campaign)) is not None:
        auditing.answer(audit, alice, audit.label.value)
    for path in paths:
        page = text_of(client.get(path))
        assert "not measured" not in page.lower(), path
        assert claims(page) == [], path
