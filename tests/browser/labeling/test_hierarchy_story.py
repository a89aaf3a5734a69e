"""A researcher and ILSVRC's question graph: from the first photograph to the exported labels.

Three people label, one of them badly. The browser does what a researcher and they would do there;
what is left to answer after each one's first page is answered by actions, as the pages would.
"""

import csv
import io
import json
import uuid
import zipfile

import pytest
from django.core.management import call_command

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.models import Answer, Campaign, Question, Seat, User
from labeling.quality import monitoring
from tests import factories
from tests.browser.labeling.test_grid import FINISHED, another, finish, wait_for_chip, wait_for_page
from tests.browser.researcher_hands import download, freeze, invite, join, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CAT, MOTORCYCLE, CUP, PERSON = "n02121808", "n03790512", "n03797390", "n00007846"
ASKED = ["astronaut.png", "chelsea.png", "coffee.png", "gravel.png", "motorcycle_left.png"]
FOR_GOLD = ["brick.png", "grass.png"]
# What a careful person answers "yes" to; everything else is a no.
SEEN = {
    "astronaut.png": {"leaf-199", "q-clothing-article-of-clothing"},
    "chelsea.png": {
        "q-living-organism",
        "q-living-organism-which-cannot-fly",
        "q-living-organism-with-2-or-4-legs",
        "q-mammals",
        "q-feline",
        "leaf-101",
    },
    "coffee.png": {"q-food", "q-kitchen-items"},
    "motorcycle_left.png": {"q-vehicle", "q-a-vehicle-with-wheels", "leaf-146"},
}
# Is the model of a shuttle behind her a vehicle? Erin says so, Dave does not.
TORN = ("astronaut.png", "q-vehicle")


def truth(image: str, node: str) -> str:
    return "yes" if node in SEEN.get(image, ()) else "no"


def says(who: str, image: str, node: str) -> str:
    if who == "mallory":
        return "yes"
    return "yes" if (who, image, node) == ("erin", *TORN) else truth(image, node)


def asked_by(token: str) -> tuple[str, str]:
    """The image and the question of a seat."""
    seats = Seat.objects.filter(token=token)
    return seats.values_list("question__item__image__name", "question__topic").get()


def label_a_page(page, who: str) -> int:
    """How many images of the page this person has marked and sent."""
    wait_for_page(page)
    tokens = page.evaluate(
        "[...document.querySelectorAll('[data-tiles] .tile')].map((tile) => tile.dataset.seat)"
    )
    for number, token in enumerate(tokens, 1):
        if says(who, *asked_by(token)) == "yes":
            page.click(f".tile:nth-child({number}) .tile-face")
    finish(page)
    page.wait_for_selector(f"{another(tokens)}, {FINISHED}", state="attached")
    wait_for_chip(page, "All saved")
    return len(tokens)


def label_the_rest(who: str, campaign: Campaign, run_jobs, most: int = 10_000) -> int:
    """How many answers this person gave until nothing is asked of them, or so many."""
    user, count = User.objects.get(username=who), 0
    while count < most:
        seats = claiming.next_page(user, campaign).seats
        if not seats:
            if not run_jobs():
                break
            continue
        sent = [
            submitting.SubmittedAnswer(
                uuid.uuid4(), seat.token, says(who, *asked_by(seat.token)), 1500
            )
            for seat in seats
        ]
        results = submitting.submit(user, campaign, sent)
        assert {result.status for result in results} == {"accepted"}
        count += len(results)
    run_jobs()
    return count


def label_to_the_end(campaign: Campaign, run_jobs) -> None:
    """What one settles, the other is asked below: in turns, until nothing is left."""
    while sum([label_the_rest(name, campaign, run_jobs) for name in ("dave", "erin")]):
        pass


def bring_in_known_label(page, site) -> None:
    """A label of one of the photographs that is known already."""
    page.goto(site("/datasets/photographs/labels/"))
    known = f"image,class,value\ncoffee.png,{CUP},yes\n".encode()
    page.set_input_files("#id_file", {"name": "pilot.csv", "mimeType": "text/csv", "buffer": known})
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Imported: 1 label of 1 image.")


def open_campaign(page, site) -> Campaign:
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Everything in it")
    page.select_option("#id_dataset", label="photographs")
    page.click("text=Question graph (ILSVRC)")
    page.fill("#id_images", "\n".join(ASKED))
    page.click("summary:has-text('More rules')")
    page.fill("#id_votes", "2")
    page.fill("#id_max_votes", "2")
    page.fill("#id_gold_share", "0.5")
    page.click("text=Create draft")
    page.wait_for_url("**/campaigns/everything-in-it/")
    page.click("nav.tabs a:has-text('Graph')")
    page.wait_for_selector(
        "text=245 questions about 200 classes. Every image begins with 17 of the questions."
    )
    page.click("button:has-text('Open campaign')")
    page.wait_for_selector("text=The campaign is open")
    return Campaign.objects.get(name="everything-in-it")


def make_gold(page, site, image: str) -> None:
    page.goto(site("/campaigns/everything-in-it/gold/add/"))
    page.click(f"#picker label:has-text('{image}')")
    page.select_option("#id_topic", "q-living-organism")
    page.select_option("#id_answer", "no")
    page.fill("#id_explanation", "Nothing here lives and moves.")
    page.click("button:has-text('Add it')")
    page.wait_for_selector(f"text={image} is gold now.")


def sign_up_and_join(page, link: str, name: str) -> None:
    """What somebody does who has no account yet."""
    page.goto(link)
    page.click("text=Sign up and join")
    page.fill("#id_username", name)
    page.fill("#id_password1", "a garden of forking paths")
    page.fill("#id_password2", "a garden of forking paths")
    page.click("button:has-text('Sign up')")
    page.wait_for_selector("text=You joined")


def settled(campaign: Campaign) -> dict[tuple[str, str], str]:
    """What stands of every settled question, by image and node."""
    rows = campaign.questions.filter(state=Question.State.SETTLED)
    return {
        (row.item.image.name, row.topic): str(row.settlements.latest("pk").value)
        for row in rows.select_related("item__image").prefetch_related("settlements")
    }


def rows_of(archive: bytes) -> list[dict[str, str]]:
    """The rows of labels.csv in a zip."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        [name] = [name for name in files.namelist() if name.endswith("labels.csv")]
        return list(csv.DictReader(io.StringIO(files.read(name).decode())))


def test_a_bad_annotators_votes_come_back_and_the_labels_come_out(
    browser_as, alice, site, run_jobs, looked_at, tmp_path
):
    page = browser_as(alice, accept_downloads=True)
    make_dataset(page, site, [*ASKED, *FOR_GOLD])
    bring_in_known_label(page, site)
    campaign = open_campaign(page, site)
    for image in FOR_GOLD:
        make_gold(page, site, image)
    link = invite(page, site, campaign.name, 3)

    people = {"dave": browser_as(None)}
    for name in ("mallory", "erin"):
        people[name] = browser_as(factories.make_user(name))
    sign_up_and_join(people["dave"], link, "dave")
    join(people["mallory"], link)
    join(people["erin"], link)
    for name, theirs in people.items():
        theirs.click("a:has-text('Start')")
        if name == "dave":  # is new here
            theirs.click("button:has-text('Skip the tutorial')")
        assert label_a_page(theirs, name) > 1
        theirs.goto(site("/"))  # what was fetched ahead goes back
    label_the_rest("mallory", campaign, run_jobs, most=60)
    label_the_rest("erin", campaign, run_jobs)
    label_the_rest("dave", campaign, run_jobs)

    # As every night: when Mallory answered, nobody else had, so nothing could be said of her yet.
    monitoring.watch_all(campaign)

    # The researcher sees who it is.
    page.goto(site("/campaigns/everything-in-it/quality/"))
    assert page.is_visible("h2:has-text('Most disputed')")
    assert page.locator("section:has(h2:has-text('Most disputed')) img").count() > 3
    mallory = campaign.memberships.select_related("user").get(user__username="mallory")
    page.goto(site("/campaigns/everything-in-it/people/"))
    assert page.is_visible(f"tr:has-text('{mallory.user.pseudonym}') small:has-text('runs')")
    page.click(f"a:has-text('{mallory.user.pseudonym}')")
    page.wait_for_selector("h2:has-text('Reputation')")
    assert "“yes”" in page.inner_text("[aria-label=Signals]")

    # Shown before it is done, done with a reason, and the votes are back.
    hers = Answer.objects.filter(assignment__annotator=mallory.user)
    real = hers.exclude(assignment__question__state=Question.State.GOLD)
    page.click("text=Block …")
    page.wait_for_selector(f"text={real.count()} answers will be void")
    assert mallory.stage == "working"
    page.click("button:has-text('Block')")
    page.wait_for_selector(".errors")  # not without a reason
    page.fill("#id_reason", "says yes to everything")
    page.click("button:has-text('Block')")
    page.wait_for_selector("text=is blocked.")
    assert "reopened" in page.inner_text("main")
    assert page.is_visible("text=“says yes to everything”")
    run_jobs()
    back = set(campaign.questions.filter(state="open").values_list("pk", flat=True))
    assert back
    assert back <= set(real.values_list("assignment__question", flat=True))
    people["mallory"].goto(site("/campaigns/everything-in-it/label/"))
    assert people["mallory"].locator(".tile").count() == 0
    assert people["mallory"].is_visible("text=Your work in this campaign has ended.")

    # Others answer them, one page of it here, and Mallory is asked nothing any more.
    seats = mallory.user.seats.count()
    helper = "dave" if label_gets("dave", campaign) else "erin"
    people[helper].goto(site("/campaigns/everything-in-it/label/"))
    assert label_a_page(people[helper], helper) > 0
    people[helper].goto(site("/"))
    label_to_the_end(campaign, run_jobs)
    assert mallory.user.seats.count() == seats
    assert not campaign.questions.filter(state="open").exists()

    # What two careful people disagree about is decided by key; what is below it is then asked.
    torn = campaign.questions.get(state="review")
    assert (torn.item.image.name, torn.topic) == TORN
    page.goto(site("/campaigns/everything-in-it/review/"))
    page.keyboard.press("y")
    page.wait_for_selector("text=Decided")
    run_jobs()
    label_to_the_end(campaign, run_jobs)
    assert not campaign.questions.filter(state="open").exists()
    labels = settled(campaign)
    assert labels.pop(TORN) == "yes"
    assert labels == {key: truth(*key) for key in labels}

    # Frozen and taken out, from the page and from the shell alike.
    freeze(page, site, campaign.name)
    looked_at(page, "story-releases")
    with zipfile.ZipFile(io.BytesIO(download(page, "a:has-text('Download')"))) as archive:
        release = json.loads(archive.read("everything-in-it-1/release.json"))
        assert (release["counts"]["annotators"], release["counts"]["review"]) == (2, 0)
        assert "everything-in-it-1/graph.json" in archive.namelist()
    rows = rows_of(download(page, "a:has-text('CSV')"))
    out = tmp_path / "labels"
    call_command("labels", "export", campaign.name, "--out", str(out), stdout=io.StringIO())
    assert rows == list(csv.DictReader(io.StringIO((out / "labels.csv").read_text())))
    check(rows)


def label_gets(who: str, campaign: Campaign) -> bool:
    """Whether a question is open that this person has not answered."""
    user = User.objects.get(username=who)
    return campaign.questions.filter(state="open").exclude(seats__annotator=user).exists()


def check(rows: list[dict[str, str]]) -> None:
    """Every image has a label of each of 200 classes, which says where it comes from."""
    by = {(row["image"], row["class"]): row for row in rows}
    assert len(by) == len(rows) == 200 * len([*ASKED, *FOR_GOLD])
    assert {row["value"] for row in rows} == {"yes", "no", "unknown"}
    assert {row["origin"] for row in rows} == {"explicit", "inherited", "given"}
    assert {key for key, row in by.items() if row["value"] == "yes"} == {
        ("astronaut.png", PERSON),
        ("chelsea.png", CAT),
        ("coffee.png", CUP),
        ("motorcycle_left.png", MOTORCYCLE),
    }
    assert by["coffee.png", CUP]["origin"] == "given"
    assert by["chelsea.png", CAT]["origin"] == "explicit"
    for image in ("gravel.png", *FOR_GOLD):
        assert (by[image, CAT]["value"], by[image, CAT]["origin"]) == ("no", "inherited")
    # Of what was not asked, nobody knows: an image of gold has no other labels.
    unknown = {key for key, row in by.items() if row["value"] == "unknown"}
    assert {image for image, _ in unknown} == set(FOR_GOLD)
    assert ("brick.png", MOTORCYCLE) in unknown
