"""The pages of objects: the list, one with its merges, imports and their reports."""

import re

import pytest

from labeling.datasets import objects
from labeling.exchange import part_imports
from labeling.models import GivenLabel, Job
from tests import factories
from tests.cases import for_each
from tests.clients import html_of, logged_in
from tests.labeling import part_files as files
from tests.labeling.label_files import upload
from tests.labeling.part_files import COW, brought, cow, sent


@pytest.fixture
def cows(meadow, run_jobs):
    content = "image,category,x0,y0,x1,y1\n2008_000585.jpg,dog,0,0,200,150\n"
    brought(meadow, run_jobs, sent(cow(), cow(x=90)))
    brought(meadow, run_jobs, upload(content, "dogs.csv"))
    return meadow


@pytest.fixture
def colleague(cows, alice):
    """A researcher of a campaign on the dataset, who does not own it."""
    dora = factories.make_user("dora", is_researcher=True)
    campaign = factories.make_campaign(alice, cows, "herd", images=1)
    factories.join(dora, campaign, "researcher")
    return logged_in(dora)


def page(client, address="", **query) -> str:
    response = client.get(f"/datasets/meadow/objects/{address}", query)
    assert response.status_code == 200
    return html_of(response)


def the(name):
    return objects.Item.objects.get(name=name).pk


def test_the_list_shows_every_object_with_its_parts_over_it(cows, as_alice):
    html = page(as_alice)

    assert "3 objects" in html
    assert html.count('class="part"') == 4
    assert html.count("<image href") == 3
    assert 'aria-label="cow-1 in 2008_000585.jpg"' in html
    # The dog fills its image.
    assert html.count("no room") == 1


def test_the_list_takes_the_same_queries_for_more_objects(cows, as_alice, run_jobs):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as few:
        page(as_alice)
    brought(cows, run_jobs, sent(*(cow(x=x) for x in range(1, 12))))
    with CaptureQueriesContext(connection) as many:
        page(as_alice)

    assert len(many) == len(few)


@for_each(
    ("query", "names"),
    [
        ({"category": COW}, {"cow-1", "cow-2"}),
        ({"category": "n02084071"}, {"dog-1"}),
        ({"flag": "no-room"}, {"dog-1"}),
        ({"flag": "no-parts"}, {"dog-1"}),
        ({"flag": "apart"}, set()),
        ({"q": "000585"}, {"cow-1", "cow-2", "dog-1"}),
        ({"q": "nowhere"}, set()),
        ({"category": "nonsense", "flag": "nonsense"}, set()),
    ],
)
def test_the_list_is_filtered(cows, as_alice, query, names):
    html = page(as_alice, **query)

    assert set(re.findall(r'aria-label="(\S+) in 2008', html)) == names
    assert ("No matching objects" in html) == (not names)


def test_flagged_merges_are_found(meadow, as_alice, run_jobs):
    brought(meadow, run_jobs, sent(cow()), how=part_imports.ImportOptions(cap=0.0))

    assert "pieces apart" in page(as_alice, flag="apart")


def test_an_empty_list_says_what_to_do(meadow, as_alice):
    html = page(as_alice)

    assert "No objects yet" in html
    assert "/datasets/meadow/objects/import/" in html


def test_one_object_shows_pieces_hull_and_alpha_shape(cows, as_alice):
    html = page(as_alice, f"{the('cow-1')}/")

    assert html.count('class="piece" d="M') == 2
    assert html.count('class="hull" d="M') == 1
    assert html.count('class="alpha" d="M') == 1
    assert "Smallest radius that joins the pieces" in html
    assert "336 px" in html  # the union: 200 + 136
    assert "lfuleg, lflleg" in html
    assert "Not known: eye, ear" in html


@for_each(
    ("crop", "box"),
    [
        ("wide", "14 17 72 96"),
        ("tight", "20 25 60 80"),
        ("image", "0 0 200 150"),
        ("?", "14 17 72"),
    ],
)
def test_the_crop_is_tight_or_with_context_or_the_whole_image(cows, as_alice, crop, box):
    assert f'viewBox="{box}' in page(as_alice, f"{the('cow-1')}/", crop=crop)


def test_another_radius_is_seen_before_it_is_kept(cows, as_alice):
    before = list(GivenLabel.objects.values())
    query = {"part": "leg", "instance": "left front", "radius": "50", "fragment": "1"}

    html = page(as_alice, f"{the('cow-1')}/", **query)

    assert "Preview, not saved" in html
    assert "50 px" in html
    assert "<html" not in html
    assert list(GivenLabel.objects.values()) == before


def test_the_package_is_tried_and_kept_with_its_alpha(cows, as_alice):
    query = {"part": "leg", "instance": "left front", "radius": "50", "method": "alphashape"}
    tried = page(as_alice, f"{the('cow-1')}/", **query)
    previewed = html_of(keep(as_alice, preview="1", radius="50", method="alphashape"))
    kept = html_of(keep(as_alice, keep="1", radius="50", method="alphashape"))

    for html in (tried, previewed, kept):
        assert "alphashape, alpha 0.0200<" in html
        assert '<option value="alphashape" selected>' in html
    assert "chosen 50 px by alphashape" in kept
    merge = GivenLabel.objects.get(key="leg", item=the("cow-1")).geometry["merges"][0]
    assert (merge["method"], merge["radius"]) == ("alphashape", 50)
    assert "use radius or alphashape" in page(
        as_alice, f"{the('cow-1')}/", **(query | {"method": "hull"})
    )


@for_each("radius", ["x", "0", "nan", "1e99"])
def test_a_radius_that_means_nothing_is_said_beside_the_picture(cows, as_alice, radius):
    query = {"part": "leg", "instance": "left front", "radius": radius}

    html = page(as_alice, f"{the('cow-1')}/", **query)

    assert 'role="alert"' in html
    assert "radius" in html


def keep(client, **fields):
    return client.post(
        f"/datasets/meadow/objects/{the('cow-1')}/merge/",
        {"part": "leg", "instance": "left front", **fields},
        follow=True,
    )


def test_a_radius_is_kept_and_taken_back(cows, as_alice):
    before = GivenLabel.objects.get(key="leg", item=the("cow-1")).geometry

    kept = html_of(keep(as_alice, radius="50", keep="1"))
    assert "Radius chosen by a person" in kept
    assert GivenLabel.objects.get(key="leg", item=the("cow-1")).geometry["merges"][0]["chosen"]

    back = html_of(keep(as_alice, radius="50", automatic="1"))
    assert "Smallest radius that joins the pieces" in back
    assert GivenLabel.objects.get(key="leg", item=the("cow-1")).geometry == before


@for_each(
    ("fields", "words"),
    [({"radius": "50"}, "Preview, not saved"), ({"automatic": "1"}, "Smallest radius")],
)
def test_without_scripts_a_radius_is_tried_by_a_button(cows, as_alice, fields, words):
    before = list(GivenLabel.objects.values())

    html = html_of(keep(as_alice, preview="1", **fields))

    assert words in html
    assert list(GivenLabel.objects.values()) == before


def test_a_bad_radius_changes_nothing_and_says_so(cows, as_alice):
    before = list(GivenLabel.objects.values())

    html = html_of(keep(as_alice, radius="much", keep="1"))

    assert "Give the radius as a number of pixels" in html
    assert list(GivenLabel.objects.values()) == before


def test_a_colleague_reads_and_changes_nothing(cows, colleague):
    html = page(colleague, f"{the('cow-1')}/")
    assert "Keep this radius" not in html
    assert "Import objects" not in page(colleague)
    assert "Choose a file" not in page(colleague, "import/")

    before = list(GivenLabel.objects.values())
    assert keep(colleague, radius="50", keep="1").status_code == 403
    assert list(GivenLabel.objects.values()) == before
    response = colleague.post("/datasets/meadow/objects/import/", {"file": sent(), "cap": "10"})
    assert response.status_code == 403


def test_an_object_of_another_dataset_is_not_there(cows, as_alice, alice):
    factories.make_dataset(alice, "elsewhere")

    for address in ("", "image"):
        response = as_alice.get(f"/datasets/elsewhere/objects/{the('cow-1')}/{address}")
        assert response.status_code == 404


def test_the_photograph_is_given_upright(cows, as_alice):
    response = as_alice.get(f"/datasets/meadow/objects/{the('cow-1')}/image")

    assert response["Content-Type"].startswith("image/")


def test_an_upload_becomes_a_job_whose_report_is_shown(meadow, as_alice, run_jobs):
    strange = cow(x=90, category="zebra")
    response = as_alice.post(
        "/datasets/meadow/objects/import/",
        {"file": sent(cow(), strange, cow(image="no.jpg")), "cap": "10", "source": "the farm"},
    )
    job = Job.objects.get(kind=part_imports.KIND)
    assert response["Location"] == f"/datasets/meadow/objects/import/{job.pk}/"
    assert "Importing objects" in page(as_alice, f"import/{job.pk}/")
    assert "HX-Refresh" not in as_alice.get(response["Location"], {"fragment": "1"})

    run_jobs()

    assert as_alice.get(response["Location"], {"fragment": "1"})["HX-Refresh"] == "true"
    html = page(as_alice, f"import/{job.pk}/")
    assert "1 object imported" in html
    assert "zebra" in html
    assert "no.jpg" in html
    assert "Import again" in html
    assert "1 objects, 2 parts, 1 refused" in page(as_alice, "import/")
    assert GivenLabel.objects.filter(source="the farm").exists()


def test_an_import_is_done_once_more(meadow, as_alice, run_jobs):
    job = brought(meadow, run_jobs, sent(cow(image="later.jpg")))
    files.image(meadow, "later.jpg")

    response = as_alice.post(f"/datasets/meadow/objects/import/{job.pk}/again/")
    run_jobs()

    assert "1 object imported" in html_of(as_alice.get(response["Location"]))


def test_a_failed_import_says_why_and_is_tried_again(meadow, as_alice, run_jobs):
    job = brought(meadow, run_jobs, upload("{}", "a.json"))

    html = page(as_alice, f"import/{job.pk}/")
    assert "The import failed." in html
    assert "is not a COCO file" in html
    as_alice.post(f"/datasets/meadow/objects/import/{job.pk}/again/")

    job.refresh_from_db()
    assert job.state == Job.State.QUEUED


@for_each(
    ("fields", "words"),
    [
        ({}, "Choose a file"),
        ({"file": upload("", "a.json")}, "The file is empty"),
        ({"file": upload("x", "a.json"), "cap": "200"}, "less than or equal to 100"),
        ({"file": upload("x", "a.json"), "format": "odd"}, "Select a valid choice"),
    ],
)
def test_a_form_with_faults_says_them_and_takes_nothing(meadow, as_alice, fields, words):
    response = as_alice.post("/datasets/meadow/objects/import/", {"cap": "10", **fields})

    assert words in response.content.decode()
    assert not Job.objects.filter(kind=part_imports.KIND).exists()


def test_without_a_vocabulary_the_page_offers_the_shipped_one(alice, as_alice):
    files.meadow(alice, vocabulary=False)

    html = page(as_alice, "import/")
    assert "Use the built-in vocabulary" in html
    as_alice.post("/datasets/meadow/vocabulary/start/")

    assert "Choose a file" in page(as_alice, "import/")
