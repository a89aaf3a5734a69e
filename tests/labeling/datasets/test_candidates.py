"""Images that queries found: their queries come in, stay, and come out of list and release."""

import csv
import io
import json
from pathlib import Path

import pytest
import skimage
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image as Pillow

from labeling.datasets import image_sources, images, imports, near_images
from labeling.datasets.image_sources import BadSource
from labeling.exchange import lists
from labeling.follow_ups import asking
from labeling.jobs import queue
from labeling.models import Image, Question
from labeling.near_duplicates.fingerprints import to_bytes
from labeling.releases import freezing
from tests import factories
from tests.labeling import samples

pytestmark = pytest.mark.django_db

DOG, CAT = "n02084071", "n02121620"
PHOTOGRAPHS = ("chelsea.png", "coffee.png", "astronaut.png")


def photograph(name: str) -> Pillow.Image:
    return Pillow.open(Path(skimage.__file__).parent / "data" / name).convert("RGB")


def encoded(image: Pillow.Image, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, form)
    return stream.getvalue()


@pytest.fixture
def candidates_csv(tmp_path) -> Path:
    """Three photographs, and chelsea again as a smaller JPEG, with what found them."""
    for name in PHOTOGRAPHS:
        (tmp_path / name).write_bytes(encoded(photograph(name)))
    small = photograph("chelsea.png").resize((225, 150))
    (tmp_path / "small.jpg").write_bytes(encoded(small, "JPEG"))
    rows = [
        (CAT, "chelsea.png", "tabby cat"),
        (CAT, "chelsea.png", "chat"),
        (DOG, "coffee.png", "hound"),
        (CAT, "small.jpg", "moggy"),
        ("", "astronaut.png", "kitchenette"),
    ]
    path = tmp_path / "list.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("wnid", "image", "query"), *rows])
    return path


def queries(dataset) -> dict[str, list[list[str]]]:
    return dict(dataset.images.values_list("name", "queries"))


def test_each_image_comes_once_with_every_query_that_found_it(dataset, candidates_csv):
    report = images.add_path(dataset, candidates_csv)

    assert (report.added, report.duplicates, report.refused) == (4, [], [])
    assert queries(dataset) == {
        "chelsea.png": [[CAT, "chat"], [CAT, "tabby cat"]],
        "coffee.png": [[DOG, "hound"]],
        "small.jpg": [[CAT, "moggy"]],
        "astronaut.png": [["", "kitchenette"]],
    }


def test_a_query_that_finds_what_is_there_is_added_to_it(dataset, candidates_csv, tmp_path):
    images.add_path(dataset, candidates_csv)
    again = tmp_path / "again.csv"
    again.write_text(f"wnid,image,query\n{DOG},chelsea.png,pet\n{CAT},chelsea.png,chat\n")

    report = images.add_path(dataset, again)

    assert len(report.duplicates) == 1
    assert queries(dataset)["chelsea.png"] == [[DOG, "pet"], [CAT, "chat"], [CAT, "tabby cat"]]


def test_what_looks_like_an_image_that_is_there_leaves_its_queries_to_it(dataset, candidates_csv):
    report = images.add_path(dataset, candidates_csv, against=[])

    assert report.as_dict()["near_duplicates"] == [
        {"file": "small.jpg", "looks_like": "chelsea.png", "of": "pond", "distance": 0}
    ]
    assert queries(dataset)["chelsea.png"] == [[CAT, "chat"], [CAT, "moggy"], [CAT, "tabby cat"]]
    assert Image.objects.exclude(fingerprint=None).count() == 3


def test_fingerprints_of_the_second_edition_are_made_again(dataset, candidates_csv):
    images.add_path(dataset, candidates_csv, against=[])
    rows = Image.objects.exclude(fingerprint=None).exclude(fingerprint=b"")
    first = dict(rows.values_list("name", "fingerprint"))
    assert len(first) == 3
    rows.filter(name="chelsea.png").update(fingerprint=bytes(88))

    made = {name: to_bytes(views) for name, views in near_images.fingerprints_of(dataset)}

    assert made == {name: bytes(stored) for name, stored in first.items()}


def test_what_another_split_has_stays_out_and_nothing_is_said_there(dataset, alice, candidates_csv):
    test = factories.make_dataset(alice, "test-split")
    content = encoded(photograph("coffee.png").crop((30, 20, 600, 400)))
    images.add_file(test, "cup.png", io.BytesIO(content))

    report = images.add_path(dataset, candidates_csv, against=[test])

    near = [(row["file"], row["looks_like"], row["of"]) for row in report.near]
    assert near == [("coffee.png", "cup.png", "test-split"), ("small.jpg", "chelsea.png", "pond")]
    assert queries(test) == {"cup.png": []}
    assert set(queries(dataset)) == {"chelsea.png", "astronaut.png"}


def test_a_zip_brings_its_own_list_and_an_import_reports_what_looks_alike(
    dataset, alice, candidates_csv
):
    files = {
        path.name: path.read_bytes()
        for path in candidates_csv.parent.iterdir()
        if path != candidates_csv
    }
    files["candidates.csv"] = candidates_csv.read_bytes()
    content = samples.zipped(files).getvalue()
    sent = imports.NamedUpload("found.zip", SimpleUploadedFile("found.zip", content), True)

    row = imports.of_uploads(dataset, alice, [sent], against=[])
    queue.run(row.job_id)

    row.refresh_from_db()
    assert (row.added, row.near, row.refused) == (3, 1, 0)
    [near] = imports.report_of(row).near
    assert {near["file"], near["looks_like"]} == {"small.jpg", "chelsea.png"}
    assert [DOG, "hound"] in queries(dataset)["coffee.png"]


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("wnid,image\n", "needs the columns wnid, image and query", 1),
        (f"wnid,image,query\n{DOG},a.png,x\ndog,a.png,x\n", "'dog' is not a wnid", 3),
        (f"wnid,image,query\n{DOG},a.png,{'x' * 201}\n", "more than 200", 2),
        (f"wnid,image,query\n{DOG},../a.png,x\n", "leaves the folder", 2),
    ],
)
def test_a_list_beside_images_that_cannot_be_read_stops_it_all(
    dataset, tmp_path, text, words, line
):
    (tmp_path / "candidates.csv").write_text(text)
    (tmp_path / "a.png").write_bytes(factories.picture())

    with pytest.raises(BadSource, match=words) as refused:
        images.add_path(dataset, tmp_path)

    assert refused.value.line == line
    assert not dataset.images.exists()


def test_a_row_of_a_list_that_cannot_be_read_is_refused_alone(dataset, candidates_csv):
    with candidates_csv.open("a", newline="") as file:
        csv.writer(file).writerows([("dog", "coffee.png", "x"), (DOG, "lost.png", "x")])

    report = images.add_path(dataset, candidates_csv)

    assert report.added == 4
    assert [(row["file"], row["why"][:20]) for row in report.refused] == [
        ("coffee.png (line 7)", "'dog' is not a wnid "),
        ("lost.png (line 8)", "There is no such fil"),
    ]


def test_the_list_comes_out_as_it_went_in(dataset, candidates_csv, shell, tmp_path, as_alice):
    images.add_path(dataset, candidates_csv)
    command = ("images", "candidates", "pond", "--out")

    every = shell.result(*command, tmp_path / "all.csv", "--scenes")
    result = shell.result(*command, tmp_path / "out.csv")

    assert every == {"dataset": "pond", "rows": 5, "images": 4, "classes": 2}
    assert result == {"dataset": "pond", "rows": 4, "images": 3, "classes": 2}
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert sorted(lines[1:]) == sorted(candidates_csv.read_text().splitlines()[1:])
    lines = (tmp_path / "out.csv").read_text().splitlines()
    page = as_alice.get("/datasets/pond/")
    assert "/datasets/pond/candidates.csv" in page.content.decode()
    file = as_alice.get("/datasets/pond/candidates.csv")
    assert file.getvalue().decode().splitlines() == lines
    assert file.headers["Content-Disposition"] == 'attachment; filename="pond-candidates.csv"'


def test_the_list_is_what_a_campaign_on_candidates_takes(dataset, candidates_csv, shell, tmp_path):
    images.add_path(dataset, candidates_csv)
    shell.result("images", "candidates", "pond", "--out", tmp_path / "out.csv")

    read = lists.read_candidates((tmp_path / "out.csv").read_bytes())

    assert {(row.topic, row.image, row.query) for row in read} == {
        *((CAT, "chelsea.png", "chat"), (CAT, "chelsea.png", "tabby cat")),
        *((CAT, "small.jpg", "moggy"), (DOG, "coffee.png", "hound")),
    }


def test_queries_are_in_the_release_and_only_of_images_that_have_any(
    dataset, alice, candidates_csv
):
    images.add_path(dataset, candidates_csv)
    campaign = factories.make_campaign(alice, dataset, "cats", topic=CAT, launch=False)
    factories.make_image(dataset, "plain.png")
    names = ["chelsea.png", "plain.png"]
    asking.add_questions(campaign, [(name, CAT) for name in names])
    questions = campaign.questions.values_list("pk", flat=True)
    factories.put(campaign, questions, state=Question.State.DROPPED, seats_free=0)

    folder = freezing.folder_of(freezing.freeze(campaign, alice))

    lines = [json.loads(line) for line in (folder / "images.jsonl").read_text().splitlines()]
    assert [line.get("queries") for line in lines] == [
        [{"wnid": CAT, "query": "chat"}, {"wnid": CAT, "query": "tabby cat"}],
        None,
    ]


def test_near_writes_what_stays_with_the_queries_of_what_goes(candidates_csv, tmp_path, shell):
    result = shell.result(
        *("images", "near", candidates_csv, "--out", tmp_path / "kept.csv"),
        *("--pairs", tmp_path / "pairs.csv"),
    )

    assert (result["images"], result["kept"], result["plain"]) == (4, 3, 0)
    assert result["removed"] == [
        {
            "image": "small.jpg",
            "kept": "chelsea.png",
            "of": "",
            "distance": 0,
            "why": "it has more pixels",
        }
    ]
    kept = (tmp_path / "kept.csv").read_text().splitlines()
    assert kept[0] == "wnid,image,query"
    assert f"{CAT},chelsea.png,moggy" in kept
    assert not any("small.jpg" in line for line in kept)
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 2


def test_near_compares_with_folders_zips_and_datasets(candidates_csv, dataset, tmp_path, shell):
    images.add_file(dataset, "cat.png", io.BytesIO(encoded(photograph("chelsea.png"))))
    val_folder = tmp_path / "val"
    val_folder.mkdir()
    (val_folder / "c.jpg").write_bytes(encoded(photograph("coffee.png"), "JPEG"))

    result = shell.result(
        *(
            "images",
            "near",
            candidates_csv,
            "--against",
            f"val={val_folder}",
            "--against",
            "dataset:pond",
        )
    )

    assert result["against"] == [
        {"name": "val", "images": 1},
        {"name": "dataset:pond", "images": 1},
    ]
    why = {(row["image"], row["of"], row["why"]) for row in result["removed"]}
    assert why == {
        ("coffee.png", "val", "the other set has it"),
        ("chelsea.png", "dataset:pond", "the other set has it"),
        ("small.jpg", "dataset:pond", "the other set has it"),
    }


def test_near_says_what_is_no_image_and_refuses_what_is_not_there(candidates_csv, tmp_path, shell):
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "a.png").write_bytes(factories.picture(1))
    (folder / "notes.txt").write_text("none")

    result = shell.result("images", "near", folder, "--out", tmp_path / "kept.csv")

    assert [row["file"] for row in result["refused"]] == ["notes.txt"]
    assert (tmp_path / "kept.csv").read_text() == "file\na.png\n"
    assert shell.refusal("images", "near", tmp_path / "none")["error"] == "does not exist"
    status, _, err = shell("images", "near", candidates_csv, "--distance", "8")
    assert (status, "invalid choice" in err) == (2, True)


def test_the_upload_page_offers_other_splits_and_the_report_names_them(
    dataset, alice, as_alice, candidates_csv
):
    test = factories.make_dataset(alice, "test-split")
    images.add_file(test, "cup.png", io.BytesIO(encoded(photograph("coffee.png"))))
    page = as_alice.get("/datasets/pond/upload/").content.decode()
    assert 'value="test-split"' in page
    content = encoded(photograph("coffee.png").resize((300, 200)))

    sent = as_alice.post(
        "/datasets/pond/upload/",
        {"files": SimpleUploadedFile("cup.png", content), "against": ["test-split"]},
    )

    row = dataset.imports.get()
    assert sent.headers["Location"] == f"/datasets/pond/imports/{row.pk}/"
    queue.run(row.job_id)
    report = as_alice.get(sent.headers["Location"]).content.decode()
    assert "Near-duplicates" in report
    assert "test-split" in report
    assert "0 images added" in report


def test_the_api_takes_other_splits_of_ones_own(dataset, alice, as_alice, bob):
    theirs = factories.make_dataset(factories.make_user("rita", is_researcher=True), "theirs")
    body = {"files": SimpleUploadedFile("a.png", factories.picture(1)), "near": "true"}

    taken = as_alice.post("/api/v1/datasets/pond/images/", body)
    body["files"] = SimpleUploadedFile("a.png", factories.picture(1))
    refused = as_alice.post("/api/v1/datasets/pond/images/", body | {"against": [theirs.name]})

    assert (taken.status_code, refused.status_code) == (202, 404)
    queue.run(dataset.imports.get().job_id)
    report = as_alice.get(f"/api/v1/datasets/pond/imports/{dataset.imports.get().pk}/").json()
    assert report["report"]["near_duplicates"] == []


def test_a_query_that_a_spreadsheet_would_run_is_quoted_and_comes_in_as_it_was(
    dataset, candidates_csv, as_alice, tmp_path
):
    names = {"=1+1": "@a.png", "-dog": "b.png", "'tis": "c.png"}
    for query, name in names.items():
        made = factories.make_image(dataset, name)
        Image.objects.filter(pk=made.pk).update(queries=[[DOG, query]])

    file = as_alice.get("/datasets/pond/candidates.csv").getvalue()

    rows = list(csv.reader(io.StringIO(file.decode())))
    assert rows[1:] == [[DOG, "'@a.png", "'=1+1"], [DOG, "b.png", "'-dog"], [DOG, "c.png", "''tis"]]
    assert {row.query: row.image for row in lists.read_candidates(file)} == names
    for name in names.values():
        (tmp_path / name).write_bytes(factories.picture())
    (tmp_path / "candidates.csv").write_bytes(file)
    [*brought] = image_sources.in_folder(tmp_path)
    names_by_query = {
        entry.queries[0][1]: entry.name for entry in brought if getattr(entry, "queries", ())
    }
    assert names_by_query == names
