"""Images come in by a job that may be killed anywhere: nothing is added or counted twice."""

import errno
import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone
from PIL import Image

from labeling.datasets import image_sources, images, imports
from labeling.datasets.image_report import ImageReport
from labeling.errors import Conflict, NotAllowed, Refusal, TooLarge
from labeling.jobs import queue, uploads
from labeling.models import Dataset, Import, Job, User
from tests import factories
from tests.cases import for_each
from tests.labeling import samples


class Killed(BaseException):
    """A worker that is gone: nobody catches this."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(images, "BATCH", 2)
    monkeypatch.setattr(queue, "RENEW_SECONDS", 0.0)


def sent(files: dict[str, bytes], name: str = "pond.zip") -> imports.NamedUpload:
    return imports.NamedUpload(
        name, SimpleUploadedFile(name, samples.zipped(files).getvalue()), True
    )


def pictures(count: int, first: int = 0) -> dict[str, bytes]:
    return {f"{n}.png": factories.picture(first + n) for n in range(count)}


def kept(settings) -> list[Path]:
    folder = Path(settings.MEDIA_ROOT) / "imports"
    return list(folder.iterdir()) if folder.exists() else []


def state_of(row: Import) -> tuple[str, int, int, int]:
    row.refresh_from_db()
    job = Job.objects.get(pk=row.job_id)
    return job.state, row.added, row.duplicates, row.refused


def kill_after(count: int, monkeypatch) -> None:
    """The worker dies when it tells of so many files."""
    tell = queue.renew

    def dying(job, done=None, total=None):
        if job.kind == imports.KIND and done == count:
            raise Killed
        tell(job, done, total)

    monkeypatch.setattr(queue, "renew", dying)


def test_an_import_waits_for_its_job_with_its_upload_kept(dataset, alice, settings):
    row = imports.of_uploads(dataset, alice, [sent(pictures(3))], licence="CC0")

    assert state_of(row) == ("queued", 0, 0, 0)
    assert len(kept(settings)) == 1
    assert "pond" not in kept(settings)[0].name
    assert not dataset.images.exists()


def test_an_import_adds_counts_reports_and_removes_its_upload(dataset, alice, settings):
    files = pictures(3) | {"copy.png": factories.picture(0), "notes.txt": b"no image"}
    row = imports.of_uploads(dataset, alice, [sent(files)], licence="CC0", source="a walk")

    job = queue.run(row.job_id)

    assert state_of(row) == ("done", 3, 1, 1)
    assert row.report["duplicates"] == [{"file": "copy.png", "same_as": "0.png"}]
    assert row.report["refused"][0]["file"] == "notes.txt"
    assert row.finished_at is not None
    job.refresh_from_db()
    assert (job.progress_done, job.progress_total) == (5, 5)
    assert set(dataset.images.values_list("licence", "source")) == {("CC0", "a walk")}
    assert kept(settings) == []


def test_single_files_keep_the_names_they_were_sent_under(dataset, alice):
    files = [
        imports.NamedUpload(
            f"birds/{n}.png", SimpleUploadedFile(f"{n}.png", factories.picture(n)), False
        )
        for n in range(3)
    ]
    row = imports.of_uploads(dataset, alice, files)

    queue.run(row.job_id)

    assert set(dataset.images.values_list("name", flat=True)) == {
        f"birds/{n}.png" for n in range(3)
    }


@pytest.mark.parametrize("moment", [1, 3, 5])
def test_a_killed_worker_resumes_and_counts_as_if_it_never_was(
    dataset, alice, monkeypatch, settings, moment
):
    with factories.make_image(dataset, "old.png", seed=900).file.open() as file:
        old = file.read()
    files = pictures(3) | {"same.png": old, "bad.png": b"no image"}
    row = imports.of_uploads(dataset, alice, [sent(files)])
    with monkeypatch.context() as patch:
        kill_after(moment, patch)
        with pytest.raises(Killed):
            queue.run(row.job_id)
    assert 0 < dataset.images.count() <= 4
    assert len(kept(settings)) == 1
    Job.objects.filter(pk=row.job_id).update(leased_until=timezone.now() - timedelta(seconds=1))

    queue.run(row.job_id)

    assert state_of(row) == ("done", 3, 1, 1)
    assert row.report["duplicates"] == [{"file": "same.png", "same_as": "old.png"}]
    assert dataset.images.count() == 4
    assert kept(settings) == []


def test_a_worker_killed_after_its_report_changes_nothing_of_it(
    dataset, alice, monkeypatch, settings
):
    row = imports.of_uploads(dataset, alice, [sent(pictures(3))])
    with monkeypatch.context() as patch:
        patch.setattr(imports, "_remove", lambda uploads: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            queue.run(row.job_id)
    Job.objects.filter(pk=row.job_id).update(leased_until=timezone.now() - timedelta(seconds=1))

    queue.run(row.job_id)

    assert state_of(row) == ("done", 3, 0, 0)
    assert kept(settings) == []


def test_a_worker_that_lost_its_lease_writes_no_report(dataset, alice, monkeypatch):
    row = imports.of_uploads(dataset, alice, [sent(pictures(3))])
    add = images.add_all

    def late(*args):
        add(*args)
        Job.objects.filter(pk=row.job_id).update(claim="another's")

    monkeypatch.setattr(images, "add_all", late)

    queue.run(row.job_id)

    assert state_of(row) == ("running", 0, 0, 0)
    assert row.finished_at is None


def test_the_same_zip_imported_twice_adds_nothing(dataset, alice):
    for _ in range(2):
        row = imports.of_uploads(dataset, alice, [sent(pictures(3))])
        queue.run(row.job_id)

    assert state_of(row) == ("done", 0, 3, 0)
    assert dataset.images.count() == 3


@pytest.mark.parametrize("after", [1, 2, 3])
def test_the_same_zip_imported_twice_at_once_has_duplicates_alone(dataset, alice, after):
    row = imports.of_uploads(dataset, alice, [sent(pictures(3))])
    seen = []

    def interrupt(execute, sql, params, many, context):
        """Adds the first image, as another import would, after so many questions for images."""
        result = execute(sql, params, many, context)
        if 'FROM "labeling_image"' in sql and " IN (" in sql:
            seen.append(sql)
            if len(seen) == after:
                [(name, content)] = pictures(1).items()
                images.add_file(dataset, name, io.BytesIO(content), licence="", source="")
        return result

    with connection.execute_wrapper(interrupt):
        queue.run(row.job_id)

    assert state_of(row)[0] == "done"
    assert Import.objects.get(pk=row.pk).report["refused"] == []
    assert dataset.images.filter(name__in=pictures(3)).count() == 3


def test_an_empty_zip_is_refused_at_once(dataset, alice, settings):
    with pytest.raises(Refusal, match="The zip is empty"):
        imports.of_uploads(dataset, alice, [sent({})])

    assert kept(settings) == []


def test_a_full_disk_fails_the_import_and_a_retry_goes_on(dataset, alice, monkeypatch, settings):
    row = imports.of_uploads(dataset, alice, [sent(pictures(4))])
    save = default_storage.save
    with monkeypatch.context() as patch:
        left = iter(range(2))

        def filling(name, content, **more):
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, "No space left on device")
            return save(name, content, **more)

        patch.setattr(default_storage, "save", filling)
        queue.run(row.job_id)
    assert state_of(row) == ("failed", 2, 0, 0)
    assert "disk is full" in Job.objects.get(pk=row.job_id).error
    assert len(kept(settings)) == 1

    imports.retry(row, alice)
    queue.run(row.job_id)

    assert state_of(row) == ("done", 4, 0, 0)


def test_a_disk_too_full_for_the_upload_keeps_nothing(dataset, alice, monkeypatch, settings):
    def full(name, content, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(default_storage, "save", full)

    with pytest.raises(images.StorageFull, match="disk is full"):
        imports.of_uploads(dataset, alice, [sent(pictures(1))])

    assert not Import.objects.exists()
    assert not Job.objects.exists()


def test_a_report_is_bounded_and_its_counts_are_exact(dataset, alice, monkeypatch):
    monkeypatch.setattr(imports, "MAX_LISTED_FILES", 3)
    files = pictures(1) | {f"{'n' * 500}{n}.txt": b"no image" for n in range(10)}
    row = imports.of_uploads(dataset, alice, [sent(files)])

    queue.run(row.job_id)

    assert state_of(row) == ("done", 1, 0, 10)
    assert len(row.report["refused"]) == 3
    assert max(len(each["file"]) for each in row.report["refused"]) == 400
    report = imports.report_of(row)
    assert (report.refused_count, len(report.refused)) == (10, 3)


def test_a_report_without_a_bound_lists_everything():
    report = ImageReport()

    for n in range(5000):
        report.refuse(f"{n}.txt", "It is no image.")

    assert len(report.refused) == report.refused_count == 5000


def test_a_name_with_a_nul_can_be_reported(dataset, alice):
    # As written: zipfile cuts names at a NUL only when it reads them.
    files = {"nul.png": factories.picture(1), "good.png": factories.picture(2)}
    content = samples.zipped(files).getvalue().replace(b"nul.png", b"nul\0png")
    file = SimpleUploadedFile("pond.zip", content)
    row = imports.of_uploads(dataset, alice, [imports.NamedUpload("pond.zip", file, True)])

    queue.run(row.job_id)

    assert state_of(row) == ("done", 1, 0, 1)
    assert row.report["refused"][0]["file"] == "nul\\x00png"


def test_a_bad_zip_is_refused_at_once(dataset, alice, settings):
    bad = imports.NamedUpload("pond.zip", SimpleUploadedFile("pond.zip", b"no zip"), True)

    with pytest.raises(Refusal, match="not a zip"):
        imports.of_uploads(dataset, alice, [sent(pictures(1)), bad])

    assert kept(settings) == []


def test_a_zip_over_the_limit_is_refused_at_once(dataset, alice, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 100

    with pytest.raises(TooLarge):
        imports.of_uploads(dataset, alice, [sent(pictures(1))])


def test_a_manifest_with_a_fault_adds_nothing_and_says_where(dataset, alice, settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "a.png").write_bytes(factories.picture(1))
    (tmp_path / "list.csv").write_text('file\na.png\n"a.png\n')
    row = imports.of_path(dataset, alice, "list.csv")

    queue.run(row.job_id)

    assert state_of(row) == ("failed", 0, 0, 0)
    assert "not valid CSV" in Job.objects.get(pk=row.job_id).error
    assert not dataset.images.exists()


def test_a_folder_that_left_the_import_folder_fails_the_import(dataset, alice, settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "birds").mkdir()
    row = imports.of_path(dataset, alice, "birds")
    (tmp_path / "birds").rmdir()

    queue.run(row.job_id)

    assert state_of(row)[0] == "failed"
    assert "has no such file or folder" in Job.objects.get(pk=row.job_id).error


def test_only_the_owner_imports_and_retries(dataset, alice, bob, settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "birds").mkdir()
    row = imports.of_path(dataset, alice, "birds")

    for action in (
        lambda: imports.of_uploads(dataset, bob, [sent(pictures(1))]),
        lambda: imports.of_path(dataset, bob, "birds"),
        lambda: imports.retry(row, bob),
    ):
        with pytest.raises(NotAllowed):
            action()
    with pytest.raises(Conflict):
        imports.retry(row, alice)


def test_an_upload_that_is_gone_fails_its_import_with_the_cure(dataset, alice, settings):
    row = imports.of_uploads(dataset, alice, [sent(pictures(1))])
    kept(settings)[0].unlink()

    queue.run(row.job_id)

    assert state_of(row)[0] == "failed"
    assert "Upload it again" in Job.objects.get(pk=row.job_id).error


def age(row: Import, monkeypatch) -> None:
    later = timezone.now() + uploads.FAILED_UPLOAD_LIFETIME + timedelta(minutes=1)
    monkeypatch.setattr(uploads.timezone, "now", lambda: later)


@pytest.mark.parametrize(("state", "removed"), [("failed", 1), ("queued", 0), ("running", 0)])
def test_only_uploads_that_nobody_waits_for_are_forgotten(
    dataset, alice, monkeypatch, settings, state, removed
):
    row = imports.of_uploads(dataset, alice, [sent(pictures(1))])
    Job.objects.filter(pk=row.job_id).update(state=state)
    assert imports.forget_old() == 0

    age(row, monkeypatch)

    assert imports.forget_old() == removed
    assert len(kept(settings)) == 1 - removed


def test_a_stray_upload_is_forgotten(alice, monkeypatch, settings):
    default_storage.save("imports/stray", ContentFile(b"x"))

    age(None, monkeypatch)

    assert imports.forget_old() == 1
    assert kept(settings) == []


@for_each(
    ("count", "bytes_each", "is_zip", "small"),
    [
        (20, 1, False, True),
        (21, 1, False, False),
        (2, 25 * 1024**2, False, True),
        (2, 25 * 1024**2 + 1, False, False),
        (1, 1, True, False),
    ],
)
def test_small_is_few_files_of_few_bytes(count, bytes_each, is_zip, small):
    file = File(io.BytesIO())
    file.size = bytes_each

    assert imports.are_small([imports.NamedUpload("a.png", file, is_zip)] * count) is small


def blank(size: tuple[int, int]) -> imports.NamedUpload:
    content = samples.saved(Image.new("1", size), "PNG")
    return imports.NamedUpload("blank.png", SimpleUploadedFile("blank.png", content), False)


def test_small_is_few_pixels_by_the_headers_however_few_the_bytes(monkeypatch):
    monkeypatch.setattr(imports, "SMALL_PIXELS", 800)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("it was decoded"))

    assert imports.are_small([blank((20, 20))] * 2)
    assert not imports.are_small([blank((20, 20)), blank((20, 21))])


def test_files_that_are_no_images_are_small_and_stay_at_their_start():
    file = SimpleUploadedFile("a.png", b"no image at all")

    assert imports.are_small([imports.NamedUpload("a.png", file, False)])
    assert file.read() == b"no image at all"


def test_a_zip_of_many_entries_is_read_by_its_job_alone(dataset, alice, monkeypatch):
    monkeypatch.setattr(imports, "SMALL_ENTRIES", 3)
    upload = sent(pictures(3) | {"../out.png": b""})

    with monkeypatch.context() as patched:
        patched.setattr("zipfile.ZipFile", None)
        row = imports.of_uploads(dataset, alice, [upload])
    queue.run(row.job_id)

    assert state_of(row) == ("done", 3, 0, 1)


def test_a_zip_of_too_many_entries_is_refused_at_once(dataset, alice, monkeypatch, settings):
    monkeypatch.setattr(image_sources, "MAX_ENTRIES", 3)

    with pytest.raises(Refusal, match="more than 3 files"):
        imports.of_uploads(dataset, alice, [sent(pictures(4))])

    assert kept(settings) == []


def test_the_command_line_adds_directly_whatever_came_with_imports(
    dataset: Dataset, alice: User, tmp_path
):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, content in pictures(2).items():
        (folder / name).write_bytes(content)
    row = imports.of_uploads(dataset, alice, [sent(pictures(1))])
    queue.run(row.job_id)

    report = images.add_path(dataset, folder)

    assert (report.added, report.duplicate_count) == (1, 1)
    assert dataset.images.get(name="1.png").came_with is None
