"""Objects by programs: files of them in, what is known of them out, radii of merges."""

from labeling.datasets import objects
from labeling.exchange import part_imports
from labeling.models import GivenLabel
from tests.cases import for_each
from tests.clients import API
from tests.labeling import part_files as files
from tests.labeling.label_files import upload
from tests.labeling.part_files import COW, brought, cow, sent

HOME = f"{API}datasets/meadow/"


def send(client, **body):
    return client.post(f"{HOME}part-imports/", body, format="multipart")


def test_a_file_becomes_a_job_that_tells_its_report(alices, meadow, run_jobs):
    response = send(alices, file=sent(cow(), cow(category="zebra", x=100)), source="the farm")
    assert response.status_code == 202
    url = f"{HOME}part-imports/{response.json()['id']}/"
    assert alices.get(url).json()["report"]["read"] == 0

    run_jobs()

    body = alices.get(url).json()
    report = body["report"]
    assert (body["state"], body["file"], body["progress_done"]) == ("done", "cows.json", 2)
    assert (report["objects"], report["parts"], report["merged"]) == (1, 2, 1)
    assert report["unknown"] == [{"category": "zebra", "part": "", "count": 1}]
    assert "stored" not in body
    assert [row["id"] for row in alices.get(f"{HOME}part-imports/").json()["results"]] == [
        body["id"]
    ]


def test_an_import_is_done_once_more(alices, meadow, run_jobs):
    job = brought(meadow, run_jobs, sent(cow(image="later.jpg")))
    files.image(meadow, "later.jpg")

    response = alices.post(f"{HOME}part-imports/{job.pk}/again/")
    run_jobs()

    assert response.status_code == 202
    assert objects.in_dataset(meadow).count() == 1


@for_each(
    ("body", "field"),
    [
        ({}, "file"),
        ({"file": upload("x", "a.json"), "cap": "2"}, "cap"),
        ({"file": upload("x", "a.json"), "format": "voc"}, "format"),
        ({"file": upload("x", "a.json"), "path": "/etc"}, "path"),
    ],
)
def test_a_body_with_faults_is_a_problem_at_its_field(alices, meadow, body, field):
    response = send(alices, **body)

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field
    assert not part_imports.jobs_of(meadow).exists()


def test_without_a_vocabulary_the_cure_is_said(alices, alice):
    files.meadow(alice, vocabulary=False)

    problem = send(alices, file=sent()).json()

    assert problem["code"] == "no_vocabulary"
    assert "start from the shipped one" in problem["errors"][0]["cure"]


def test_objects_are_listed_with_their_parts_and_found_by_image_and_category(
    alices, meadow, run_jobs
):
    brought(meadow, run_jobs, sent(cow()))
    brought(meadow, run_jobs, upload("image,category\n2008_000585.jpg,dog\n", "dogs.csv"))

    rows = alices.get(f"{HOME}objects/").json()["results"]
    assert [(row["name"], row["category"], row["room"]) for row in rows] == [
        ("cow-1", COW, True),
        ("dog-1", "n02084071", False),
    ]
    assert (rows[0]["box"], rows[0]["crop"]) == ([20, 25, 80, 105], [14, 17, 86, 113])
    leg = next(part for part in rows[0]["parts"] if part["key"] == "leg")
    assert leg["merges"][0]["names"] == ["lfuleg", "lflleg"]
    assert len(leg["polygons"]) == 1
    for query, count in ({"category": COW}, 1), ({"image": "2008_000585.jpg"}, 2):
        assert len(alices.get(f"{HOME}objects/", query).json()["results"]) == count
    assert alices.get(f"{HOME}objects/", {"color": "red"}).status_code == 400


def test_a_radius_is_chosen_and_taken_back(alices, meadow, run_jobs):
    brought(meadow, run_jobs, sent(cow()))
    before = GivenLabel.objects.get(key="leg").geometry
    url = f"{HOME}objects/{objects.in_dataset(meadow).get().pk}/"
    body = {"part": "leg", "instance": "left front"}

    chosen = alices.post(f"{url}merge/", body | {"radius": 50}, format="json").json()
    leg = next(part for part in chosen["parts"] if part["key"] == "leg")
    assert (leg["merges"][0]["radius"], leg["merges"][0]["chosen"]) == (50, True)
    assert alices.get(url).json() == chosen

    by_package = body | {"radius": 50, "method": "alphashape"}
    chosen = alices.post(f"{url}merge/", by_package, format="json").json()
    leg = next(part for part in chosen["parts"] if part["key"] == "leg")
    assert (leg["merges"][0]["method"], leg["merges"][0]["radius"]) == ("alphashape", 50)

    alices.post(f"{url}merge/", body | {"radius": None}, format="json")
    assert GivenLabel.objects.get(key="leg").geometry == before


@for_each(
    ("body", "status"),
    [
        ({"part": "leg", "instance": "left front", "radius": -1}, 400),
        ({"part": "leg", "instance": "left front", "radius": 5, "method": "hull"}, 400),
        ({"part": "leg", "instance": "left front", "radius": None, "method": "alphashape"}, 400),
        ({"part": "leg", "radius": 5}, 404),
        ({"part": "wing", "radius": 5}, 404),
        ({"part": "leg"}, 400),
    ],
)
def test_a_merge_that_cannot_be_is_refused(alices, meadow, run_jobs, body, status):
    brought(meadow, run_jobs, sent(cow()))
    before = list(GivenLabel.objects.values())
    url = f"{HOME}objects/{objects.in_dataset(meadow).get().pk}/merge/"

    assert alices.post(url, body, format="json").status_code == status
    assert list(GivenLabel.objects.values()) == before
