"""Every page a researcher sees, full of data: looked at in four ways, and worked by key."""

import uuid

import pytest

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.follow_ups import asking
from labeling.models import Campaign, Job, User
from labeling.quality import memberships
from labeling.quality.gold import add_gold
from labeling.releases import freezing
from tests import factories
from tests.browser.conftest import settled
from tests.browser.researcher_hands import download
from tests.labeling import samples

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What the seven people of the crowd say, over and over: enough of everything.
CROWD_VALUES = {
    0: ["yes", "yes", "no", "yes", "no"],
    1: ["yes", "no", "no", "yes", "hard"],
    2: ["yes", "yes", "yes", "no", "no", "no"],
    3: ["no", "no", "hard", "not_photo"],
    4: ["yes"],
    5: ["no", "yes"],
}


def answer(user: User, campaign: Campaign, values: list[str], pages: int = 1) -> None:
    for _ in range(pages):
        seats = claiming.next_page(user, campaign).seats
        sent = [
            submitting.SubmittedAnswer(
                uuid.uuid4(), seat.token, values[number % len(values)], 1500 + 400 * number
            )
            for number, seat in enumerate(seats)
        ]
        submitting.submit(user, campaign, sent)


@pytest.fixture
def busy(cats: Campaign, alice: User) -> Campaign:
    """The campaign of the photographs after a day's work: settled, torn, dropped, failed."""
    policy = {"votes": 3, "max_votes": 4, "gold_share": 0.3, "cost_per_hour": 14.5}
    lifecycle.change_policy(cats, alice, policy)
    for number in range(24):
        factories.make_image(cats.dataset, f"pond/{number:03}-coot-at-dawn.png", seed=number * 7)
    names = [f"pond/{number:03}-coot-at-dawn.png" for number in range(24)]
    asking.add_questions(cats, [(name, "n02123045") for name in names[:18]])
    gold = [
        {"image": name, "topic": "n02123045", "answer": "no", "explanation": "It is a bird."}
        for name in names[18:]
    ]
    add_gold(cats, alice, gold)
    for number, values in CROWD_VALUES.items():
        person = factories.make_user(f"crowd{number}")
        factories.join(person, cats)
        answer(person, cats, values, pages=2 if number < 3 else 1)
    torn = list(cats.questions.filter(state="settled").order_by("pk").values_list("pk", flat=True))
    # Which seats people get is chance: what is torn must not be.
    factories.put(cats, torn[:3], state="review")
    factories.put(cats, torn[3:5], state="dropped")
    asking.add_questions(cats, [(name, "n07920052") for name in names[:12]])
    answer(User.objects.get(username="crowd4"), cats, ["no"])
    factories.join(factories.make_user("rita"), cats, "reviewer")
    memberships.invite(
        cats, alice, "annotator", days=14, max_uses=20, note="the ornithology course"
    )
    memberships.revoke(
        memberships.invite(cats, alice, "reviewer", note="sent to the wrong person")[0], alice
    )
    Job.objects.create(
        kind="score",
        key="cats:1",
        campaign=cats,
        state="failed",
        attempts=3,
        error="The disk is full. Free some space, then try again.",
    )
    Job.objects.create(
        kind="score",
        key="cats:2",
        campaign=cats,
        state="running",
        progress_done=321,
        progress_total=2000,
        claim="x",
    )
    freezing.freeze(cats, alice)
    return cats


PAGES = {
    "campaigns": "/campaigns/",
    "campaign": "/campaigns/cats/",
    "close": "/campaigns/cats/close/",
    "settings": "/campaigns/cats/edit/",
    "questions": "/campaigns/cats/questions/",
    "questions-add": "/campaigns/cats/questions/add/",
    "topics": "/campaigns/cats/topics/",
    "gold": "/campaigns/cats/gold/",
    "gold-add": "/campaigns/cats/gold/add/",
    "people": "/campaigns/cats/people/",
    "releases": "/campaigns/cats/releases/",
    "jobs": "/campaigns/cats/jobs/",
    "preview": "/campaigns/cats/preview/",
    "review": "/campaigns/cats/review/",
    "datasets": "/datasets/",
    "dataset": "/datasets/pond/",
    "dataset-new": "/datasets/new/",
    "upload": "/datasets/pond/upload/",
    "tokens": "/tokens/",
}


def test_pages_full_of_data_look_right(page, busy, site, looked_at, settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    question = busy.questions.filter(state="settled").order_by("pk").first()
    topic = busy.topics.get(key="n02123045")
    more = {
        "question": f"/campaigns/cats/questions/{question.pk}/",
        "topic": f"/campaigns/cats/topics/{topic.pk}/",
    }

    for name, path in (PAGES | more).items():
        assert page.goto(site(path)).status == 200, path
        settled(page)
        looked_at(page, f"r-{name}")


def test_secrets_and_reports_look_right(page, busy, site, looked_at):
    page.goto(site("/tokens/"))
    page.fill("#id_name", "the nightly run of the cluster")
    page.click("text=Create token")
    page.wait_for_selector("text=it is shown only once")
    looked_at(page, "r-token-made")
    page.goto(site("/datasets/pond/upload/"))
    page.set_input_files(
        "#id_files",
        [
            {"name": "heron.png", "mimeType": "image/png", "buffer": factories.picture(400)},
            {"name": "again.png", "mimeType": "image/png", "buffer": factories.picture(400)},
            {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no image"},
        ],
    )
    page.click("text=Upload")
    page.wait_for_selector("text=1 image added")
    looked_at(page, "r-report")


def test_an_import_leads_to_its_progress_which_becomes_its_report(
    page, dataset, site, looked_at, run_jobs
):
    files = {f"birds/{n}.png": factories.picture(500 + n) for n in range(3)}
    archive = samples.zipped(files | {"notes.txt": b"no image"}).getvalue()
    page.goto(site("/datasets/pond/upload/"))

    page.set_input_files(
        "#id_files", [{"name": "pond.zip", "mimeType": "application/zip", "buffer": archive}]
    )
    page.click("text=Upload")
    page.wait_for_selector("text=Waiting for a worker")
    row = dataset.imports.get()
    assert page.url.endswith(f"/datasets/pond/imports/{row.pk}/")
    Job.objects.filter(pk=row.job_id).update(progress_done=2, progress_total=4)
    looked_at(page, "r-import-waits")
    page.goto(site("/datasets/pond/"))
    looked_at(page, "r-import-on-dataset")
    page.click("text=pond.zip")
    run_jobs()

    # By itself: nobody reloads the page.
    page.wait_for_selector("text=3 images added")
    assert page.is_visible("th:has-text('notes.txt')")
    looked_at(page, "r-import-report")
    page.goto(site("/datasets/pond/imports/"))
    Job.objects.filter(pk=row.job_id).update(state="failed", error="The disk is full. " * 6)
    page.reload()
    looked_at(page, "r-imports-failed")


def test_preview_shows_what_annotators_see_and_takes_no_answer(page, cats, site):
    page.goto(site("/campaigns/cats/preview/"))

    assert page.is_visible(".stage img")
    assert page.locator(".stage img").evaluate("image => image.decode().then(() => true)")
    assert page.is_visible("text=Paintings of it count as no.")
    page.keyboard.press("y")
    page.locator("button[value=yes]").click(force=True)
    assert page.url.endswith("/preview/")
    assert not cats.questions.filter(seats__isnull=False).exists()


def test_forms_with_faults_look_right(page, busy, site, looked_at):
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Coots & drakes, spring")
    looked_at(page, "r-new")
    page.fill("#id_questions", "chelsea.png\n")
    page.fill("#id_name", "Spring Coots")
    page.click("text=Create draft")
    page.wait_for_selector(".errors")
    looked_at(page, "r-new-faults")


def test_price_follows_what_is_typed(page, dataset, site):
    page.goto(site("/campaigns/new/"))

    page.fill("#id_title", "Étang: autumn round")
    page.click("summary:has-text('More rules')")
    page.fill("#id_expected", "900")
    page.fill("#id_cost_per_hour", "18")
    page.keyboard.press("Tab")
    page.wait_for_selector("text=74.46 EUR")
    page.select_option("#id_stop_early", "never")
    page.wait_for_selector("text=100.00 EUR")

    assert page.input_value("#id_name") == "etang-autumn-round"
    assert page.is_hidden("#id_vocabulary")
    page.click("text=Image naming")
    assert page.is_visible("#id_vocabulary")


def test_a_campaign_is_made_from_a_preset_in_five_fields(page, dataset, site, looked_at):
    factories.make_image(dataset, "a.png")
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Coots")
    page.select_option("#id_dataset", label=dataset.name)
    page.select_option("#id_preset", "careful")
    page.fill("#id_questions", "a.png,n02018207")
    page.keyboard.press("Tab")
    page.locator("#estimate").get_by_text("votes, error").first.wait_for()
    looked_at(page, "r-new-preset")
    page.click("text=Create draft")
    page.wait_for_url("**/campaigns/coots/")

    made = Campaign.objects.get(name="coots")
    assert (made.policy.content["votes"], made.policy.content["test_questions"]) == (9, 10)


def test_a_reviewer_works_by_key(browser_as, busy, site):
    rita = User.objects.get(username="rita")
    waiting = list(busy.questions.filter(state="review").order_by("pk"))
    assert len(waiting) >= 2
    page = browser_as(rita)
    page.goto(site("/campaigns/cats/review/"))

    page.keyboard.press("s")
    page.wait_for_url("**?after=*")
    page.keyboard.press("y")
    page.wait_for_selector("text=Decided")

    waiting[1].refresh_from_db()
    assert waiting[1].state == "settled"
    assert waiting[1].settlements.latest("pk").value == "yes"


def test_a_key_typed_into_a_field_is_a_letter(page, busy, site):
    page.goto(site("/campaigns/cats/review/"))

    page.fill("#id_reason", "")
    page.click("#id_reason")
    page.keyboard.type("dy")

    assert page.input_value("#id_reason") == "dy"
    assert page.url.endswith("/review/")


def test_progress_moves_by_itself_and_rests_when_hidden(page, bob, cats, site):
    page.clock.install()
    page.goto(site("/campaigns/cats/"))
    page.wait_for_selector("text=0 of 10 questions finished")
    assert page.locator(".stat:has-text('answers given') dd").inner_text() == "0"

    answer(bob, cats, ["yes"])

    page.clock.run_for(6000)
    page.wait_for_selector(".stat:has-text('answers given') dd:has-text('10')")
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true});"
        "document.addEventListener('refresh', () => (window.refreshed = true), true)"
    )
    page.clock.run_for(6000)
    assert not page.evaluate("window.refreshed")


def test_an_invitation_is_copied(browser_as, alice, cats, site):
    page = browser_as(alice, permissions=["clipboard-read", "clipboard-write"])
    page.goto(site("/campaigns/cats/people/"))

    page.click("text=Create invitation")
    page.click("[data-copy] button")
    page.wait_for_selector("text=Copied")

    copied = page.evaluate("navigator.clipboard.readText()")
    assert "/join/" in copied
    assert page.input_value("[data-copy] input") == copied


def test_links_of_many_people_are_downloaded(browser_as, alice, cats, site, looked_at):
    page = browser_as(alice)
    page.goto(site("/campaigns/cats/people/"))

    page.click("text=Invite many people")
    page.fill("#many_people", "Mia Hahn\nTom Berg")
    looked_at(page, "invite-many")
    rows = download(page, "text=Download a link for each").decode().splitlines()

    assert [row.split(",")[0] for row in rows] == ["name", "Mia Hahn", "Tom Berg"]
    assert "/join/" in rows[1]


def test_a_deadline_is_set_and_shown_to_annotators(browser_as, alice, bob, coots, site):
    page = browser_as(alice)
    page.goto(site("/campaigns/coots/edit/"))
    page.fill("#id_deadline", "2100-01-02T03:04")
    page.click("button:has-text('Save')")
    page.wait_for_selector("text=Saved.")

    annotator = browser_as(bob)
    annotator.goto(site("/"))
    assert "Open until 2 Jan 2100, 3:04" in annotator.inner_text(".campaign-card")
    annotator.goto(site("/campaigns/coots/label/"))
    assert "Open until 2 Jan 2100" in annotator.text_content("#about")


def test_changed_instructions_are_versions_and_noticed(
    browser_as, alice, bob, cats, coots, site, looked_at
):
    page = browser_as(alice)
    page.goto(site("/campaigns/coots/edit/"))
    page.fill("#id_instructions", "# Coots\n\n- **adults**\n- [chicks](https://a.example)")
    page.click("button:has-text('Save')")
    page.wait_for_selector("text=Saved.")
    page.click("summary:has-text('Version 2')")
    page.wait_for_selector("details[open] strong:text('adults')")
    looked_at(page, "instructions-versions")
    page.goto(site("/campaigns/cats/edit/"))
    page.fill("#id_instructions", "Draw *everything*.")
    page.click("button:has-text('Save')")
    page.wait_for_selector("text=Saved.")

    annotator = browser_as(bob)
    for name in ("coots", "cats"):
        annotator.goto(site(f"/campaigns/{name}/label/"))
        assert "The instructions changed on" in annotator.inner_text(".messages")
        looked_at(annotator, f"instructions-changed-{name}")
        annotator.keyboard.press("i")
        annotator.wait_for_selector(".messages", state="detached")
