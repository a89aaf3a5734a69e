"""Datasets and tokens as pages: images come in with a report, secrets are told once."""

import io
import zipfile
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile

from labeling.models import ApiToken, Dataset, Import
from tests import factories
from tests.cases import for_each
from tests.clients import text_of


def picture(seed: int, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, factories.picture(seed), "image/png")


def archive(files: dict[str, bytes]) -> SimpleUploadedFile:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return SimpleUploadedFile("images.zip", stream.getvalue(), "application/zip")


def test_new_dataset_leads_to_its_upload(desk):
    response = desk.post("/datasets/new/", {"name": "lake", "description": "Birds."})

    assert response["Location"] == "/datasets/lake/upload/"
    assert Dataset.objects.get().description == "Birds."


@for_each(("name", "message"), [("Lake", "cannot be a name"), ("pond", "already called")])
def test_a_wrong_name_says_why(desk, dataset, name, message):
    assert message in text_of(desk.post("/datasets/new/", {"name": name}))
    assert Dataset.objects.count() == 1


def test_upload_reports_every_file(desk, dataset):
    files = [
        picture(1, "coot.png"),
        picture(1, "again.png"),
        SimpleUploadedFile("notes.txt", b"not an image", "text/plain"),
    ]

    page = text_of(desk.post("/datasets/pond/upload/", {"files": files, "licence": "CC0"}))

    assert "1 image added" in page
    assert "again.png" in page
    assert "notes.txt" in page
    assert set(dataset.images.values_list("name", "licence")) == {("coot.png", "CC0")}
    assert not Import.objects.exists()


def test_a_zip_becomes_an_import_with_progress_and_a_report(desk, dataset, run_jobs):
    files = [
        picture(1, "coot.png"),
        archive({"birds/drake.png": factories.picture(2), "../slip.png": factories.picture(3)}),
    ]

    response = desk.post("/datasets/pond/upload/", {"files": files, "licence": "CC0"})
    address = response["Location"]
    waiting = text_of(desk.get(address))
    text = text_of(desk.get("/datasets/pond/"))
    run_jobs()
    report = text_of(desk.get(address))

    assert "Waiting for a worker" in waiting
    assert "coot.png and 1 more" in text
    assert "data-refresh" in text
    assert "2 images added" in report
    assert "../slip.png" in report
    assert "2 images added" not in waiting
    assert set(dataset.images.values_list("name", "licence")) == {
        ("coot.png", "CC0"),
        ("birds/drake.png", "CC0"),
    }
    assert "data-refresh" not in text_of(desk.get("/datasets/pond/"))


def test_progress_is_asked_for_until_the_import_ends(desk, dataset, run_jobs):
    files = [archive({"drake.png": factories.picture(2)})]
    address = desk.post("/datasets/pond/upload/", {"files": files})["Location"]

    before = desk.get(address + "?fragment=1")
    run_jobs()
    after = desk.get(address + "?fragment=1")

    assert "HX-Refresh" not in before
    assert after["HX-Refresh"] == "true"


def test_a_failed_import_says_why_and_is_tried_again(desk, dataset, settings, tmp_path, run_jobs):
    (tmp_path / "list.csv").write_text("picture\na.png\n")
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    address = desk.post("/datasets/pond/import/", {"path": "list.csv"})["Location"]

    run_jobs()
    failed = text_of(desk.get(address))
    on_the_dataset = text_of(desk.get("/datasets/pond/"))
    (tmp_path / "a.png").write_bytes(factories.picture(7))
    (tmp_path / "list.csv").write_text("file\na.png\n")
    assert desk.post(address + "retry/")["Location"] == address
    run_jobs()

    assert "no column file" in failed
    assert "no column file" in on_the_dataset
    assert "1 image added" in text_of(desk.get(address))


def test_an_import_of_another_dataset_is_not_there(desk, dataset, alice):
    files = [archive({"drake.png": factories.picture(2)})]
    address = desk.post("/datasets/pond/upload/", {"files": files})["Location"]
    factories.make_dataset(alice, "lake")

    assert desk.get(address.replace("pond", "lake")).status_code == 404


def test_the_fragment_of_imports_holds_those_shown_with_the_dataset_alone(desk, dataset, run_jobs):
    for name in ("earlier.zip", "new.zip"):
        files = [SimpleUploadedFile(name, archive({"a.png": factories.picture(1)}).read())]
        desk.post("/datasets/pond/upload/", {"files": files})
    run_jobs()
    Import.objects.filter(name="earlier.zip").update(created_at="2020-01-01T00:00:00Z")

    response = desk.get("/datasets/pond/imports/?fragment=1")

    assert "<html" not in response.content.decode()
    assert "new.zip" in text_of(response)
    assert "earlier.zip" not in text_of(response)


def test_imports_are_listed_at_one_price(desk, dataset, django_assert_num_queries):
    for name in ("a", "b"):
        files = [archive({f"{name}.png": factories.picture(2)})]
        desk.post("/datasets/pond/upload/", {"files": files})

    with django_assert_num_queries(5):
        page = text_of(desk.get("/datasets/pond/imports/"))

    assert page.count("Waiting for a worker") == 2


def test_upload_without_a_file_says_so(desk, dataset):
    assert "Choose at least one image or zip." in text_of(desk.post("/datasets/pond/upload/"))


def test_upload_over_the_limit_is_refused(desk, dataset, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 10

    page = text_of(desk.post("/datasets/pond/upload/", {"files": [picture(1, "coot.png")]}))

    assert "the limit per request is 10." in page
    assert not dataset.images.exists()


def test_a_large_upload_goes_through_the_disk(settings):
    assert (
        "django.core.files.uploadhandler.TemporaryFileUploadHandler"
        in settings.FILE_UPLOAD_HANDLERS
    )


def test_import_stays_below_its_root(desk, dataset, settings, tmp_path: Path, run_jobs):
    root = tmp_path / "import"
    (root / "birds").mkdir(parents=True)
    (root / "birds" / "coot.png").write_bytes(factories.picture(4))
    (tmp_path / "secret.png").write_bytes(factories.picture(5))
    settings.ASSAY_IMPORT_ROOT = str(root)

    inside = text_of(desk.post("/datasets/pond/import/", {"path": "birds"}, follow=True))
    outside = text_of(desk.post("/datasets/pond/import/", {"path": "../secret.png"}))

    run_jobs()

    assert "Importing images" in inside
    assert "The import folder has no such file or folder" in outside
    assert dataset.images.get().name == "coot.png"


def test_import_is_not_offered_where_no_root_is_set(desk, dataset):
    assert "import folder" not in text_of(desk.get("/datasets/pond/upload/"))


def test_images_are_found_by_name(desk, dataset):
    for name in ("coot.png", "drake.png"):
        factories.make_image(dataset, name)

    page = text_of(desk.get("/datasets/pond/images/?q=drake"))
    nothing = text_of(desk.get("/datasets/pond/images/?q=whale"))

    assert "drake.png" in page
    assert "coot.png" not in page
    assert "No matching image" in nothing


def test_thumbnail_is_a_small_picture(desk, dataset):
    image = factories.make_image(dataset, "coot.png")

    response = desk.get(f"/datasets/pond/images/{image.pk}/thumbnail")

    assert response["Content-Type"] == "image/webp"
    assert response.content[:4] == b"RIFF"


def test_a_token_is_shown_once_and_revoked(desk, alice):
    made = text_of(desk.post("/tokens/", {"name": "nightly", "scope": "write", "days": 30}))
    token = ApiToken.objects.get(user=alice)
    later = text_of(desk.get("/tokens/"))

    assert "it is shown only once" in made
    assert "it is shown only once" not in later
    assert token.scope == "write"
    desk.post(f"/tokens/{token.token_key}/revoke/")
    assert not ApiToken.objects.exists()


def test_a_page_with_a_secret_is_not_kept_by_the_browser(desk):
    response = desk.post("/tokens/", {"name": "nightly", "scope": "read", "days": 30})

    assert "no-store" in response["Cache-Control"]


def test_a_token_of_somebody_else_is_not_revoked(desk, bob):
    from labeling.web import tokens

    token, _ = tokens.create_token(bob, "his")

    assert desk.post(f"/tokens/{token.token_key}/revoke/").status_code == 404
    assert ApiToken.objects.filter(user=bob).exists()


@for_each(
    ("changes", "message"),
    [({"days": 0}, "greater than or equal to 1"), ({"scope": "all"}, "Select a valid choice")],
)
def test_a_wrong_token_form_says_why(desk, changes, message):
    form = {"name": "n", "scope": "read", "days": 30, **changes}

    assert message in text_of(desk.post("/tokens/", form))
    assert not ApiToken.objects.exists()


def test_a_dataset_names_the_campaigns_that_i_run_on_it(desk, coots):
    page = text_of(desk.get("/datasets/pond/"))

    assert '<a href="/campaigns/coots/">Coots</a>' in page
