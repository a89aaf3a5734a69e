"""Images come in whole or not at all; annotators get derivatives."""

import errno
import io
import zipfile

import pytest
from django.core.files.storage import InMemoryStorage
from PIL import Image as Pillow

from labeling.datasets import images, imports
from labeling.errors import Refusal, TooLarge
from labeling.jobs.image_store import field_of
from labeling.models import Image, Job
from tests import factories
from tests.cases import for_each
from tests.labeling import samples


def add(dataset, name="coot.jpg", content=None, **fields):
    return images.add_file(dataset, name, io.BytesIO(content or samples.jpeg()), **fields)


def stored(settings) -> list[str]:
    """Every file in the storage."""
    return sorted(
        path.relative_to(settings.MEDIA_ROOT).as_posix()
        for path in settings.MEDIA_ROOT.rglob("*")
        if path.is_file()
    )


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pictures"
    (made / "sub").mkdir(parents=True)
    (made / "a.jpg").write_bytes(samples.noise(1))
    (made / "sub" / "b.png").write_bytes(samples.noise(2, form="PNG"))
    return made


@pytest.fixture
def add_zip(dataset, tmp_path):
    def add_zip(stream):
        path = tmp_path / "sent.zip"
        path.write_bytes(stream.getvalue())
        return images.add_path(dataset, path)

    return add_zip


# One file


def test_a_file_becomes_an_image_with_its_type_size_and_hash(dataset):
    content = samples.turned(6, samples.two_sided((60, 40)))

    added = add(dataset, "birds/coot.png", content, licence="CC0", source="a walk")

    image = added.image
    image.refresh_from_db()
    assert (image.name, image.media_type) == ("birds/coot.png", "image/jpeg")
    assert (image.width, image.height, image.bytes) == (60, 40, len(content))
    assert (image.licence, image.source) == ("CC0", "a walk")
    with image.file.open() as file:
        assert file.read() == content


def test_storage_names_tell_nothing(dataset, run_jobs):
    image = add(dataset, "birds/coot.jpg").image

    run_jobs()

    image.refresh_from_db()
    for name in (image.file.name, image.display.name, image.thumbnail.name):
        assert "coot" not in name
        assert image.sha256[:8] not in name
    assert len({name.split("/")[-1][:8] for name in (image.file.name, image.display.name)}) == 2


def test_the_callers_file_stays_open(dataset):
    file = io.BytesIO(samples.jpeg())

    images.add_file(dataset, "coot.jpg", file)

    assert not file.closed


def test_the_same_content_is_not_added_twice(dataset, settings):
    first = add(dataset).image
    before = stored(settings)

    again = add(dataset, "other.jpg")

    assert again.image is None
    assert again.duplicate_of == first
    assert dataset.images.count() == 1
    assert stored(settings) == before


def test_the_same_content_may_be_in_two_datasets(dataset, alice):
    add(dataset)

    copy = add(factories.make_dataset(alice, "lake"))

    assert copy.image is not None


def test_a_name_with_other_content_is_refused(dataset, settings):
    add(dataset)
    before = stored(settings)

    with pytest.raises(images.NameTaken, match=r"another image named coot\.jpg"):
        add(dataset, content=samples.noise())

    assert stored(settings) == before


@for_each(
    ("content", "why"),
    [
        (samples.noise()[:5000], "truncated"),
        (samples.png_bomb(), "the limit of this site"),
        (samples.animated("GIF"), "animated"),
        (b"<html>no image</html>", "not a JPEG"),
    ],
)
def test_a_bad_file_is_refused_with_its_sentence_and_leaves_nothing(
    dataset, settings, content, why
):
    with pytest.raises(Refusal, match=why) as refused:
        add(dataset, content=content)

    assert refused.value.code == "bad_image"
    assert not Image.objects.exists()
    assert not Job.objects.exists()
    assert stored(settings) == []


def test_an_empty_file_is_refused(dataset):
    with pytest.raises(Refusal, match="empty"):
        images.add_file(dataset, "coot.jpg", io.BytesIO(b""))


def test_a_file_over_the_limit_is_refused_without_reading_it_all(dataset, settings):
    settings.ASSAY_MAX_IMAGE_BYTES = 1000
    file = io.BytesIO(samples.jpeg() + b"\0" * 5_000_000)

    with pytest.raises(TooLarge, match="1,000 bytes"):
        images.add_file(dataset, "coot.jpg", file)

    assert file.tell() <= images.CHUNK_BYTES


@for_each(("field", "length"), [("licence", 201), ("source", 501)])
def test_a_licence_or_source_that_is_too_long_is_refused(dataset, settings, field, length):
    with pytest.raises(Refusal, match=f"{field} is longer"):
        add(dataset, **{field: "x" * length})

    assert stored(settings) == []


def test_a_row_that_is_refused_takes_its_file_along(dataset, settings, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the database is away")

    monkeypatch.setattr(images.queue, "enqueue", fail)

    with pytest.raises(RuntimeError):
        add(dataset)

    assert stored(settings) == []
    assert not Image.objects.exists()


@pytest.fixture
def meanwhile(dataset, monkeypatch):
    """Lets somebody else add a file while the next one is checked."""

    def arrange(name: str, content: bytes) -> None:
        check = images.check

        def slow(*args, **kwargs):
            monkeypatch.setattr(images, "check", check)
            add(dataset, name, content)
            return check(*args, **kwargs)

        monkeypatch.setattr(images, "check", slow)

    return arrange


def test_two_imports_of_the_same_file_at_once_give_one_image(dataset, settings, meanwhile):
    meanwhile("quicker.jpg", samples.jpeg())

    slower = add(dataset, "slower.jpg")

    assert slower.duplicate_of.name == "quicker.jpg"
    assert len(stored(settings)) == 1


def test_two_imports_of_one_name_at_once_keep_the_first(dataset, settings, meanwhile):
    meanwhile("coot.jpg", samples.noise())

    with pytest.raises(images.NameTaken):
        add(dataset, "coot.jpg")

    assert len(stored(settings)) == 1


@pytest.fixture
def full_after(monkeypatch):
    """Lets the storage take a number of files, then leaves half of one and says it is full."""

    def arrange(count: int) -> None:
        storage = field_of("file").storage
        save = storage.save
        left = iter(range(count))

        def filling(name, content, **_):
            if next(left, None) is not None:
                return save(name, content)
            from django.core.files.base import ContentFile

            save(name, ContentFile(b"half"))
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(storage, "save", filling)

    return arrange


def test_a_full_disk_leaves_no_half_file(dataset, settings, full_after):
    full_after(0)

    with pytest.raises(images.StorageFull, match="disk is full"):
        add(dataset)

    assert stored(settings) == []
    assert not Image.objects.exists()


# Many files


def test_a_folder_is_added_and_reported(dataset, folder):
    (folder / "copy.jpg").write_bytes(samples.noise(1))
    (folder / "notes.txt").write_text("no image")
    (folder / "cut.jpg").write_bytes(samples.noise(3)[:4000])
    seen = []

    report = images.add_path(dataset, folder, licence="CC0", watch=seen.append)

    assert report.added == 2
    assert report.duplicates == [{"file": "copy.jpg", "same_as": "a.jpg"}]
    assert [each["file"] for each in report.refused] == ["cut.jpg", "notes.txt"]
    assert "truncated" in report.refused[0]["why"]
    assert "not a JPEG" in report.refused[1]["why"]
    assert set(dataset.images.values_list("name", "licence")) == {
        ("a.jpg", "CC0"),
        ("sub/b.png", "CC0"),
    }
    assert sum(seen) == 5


def test_adding_a_folder_twice_adds_nothing(dataset, folder, settings):
    images.add_path(dataset, folder)
    before = stored(settings)

    again = images.add_path(dataset, folder)

    assert again.added == 0
    assert again.duplicates == [
        {"file": "a.jpg", "same_as": "a.jpg"},
        {"file": "sub/b.png", "same_as": "sub/b.png"},
    ]
    assert stored(settings) == before


def test_a_name_taken_by_other_content_is_reported(dataset, folder):
    add(dataset, "a.jpg", samples.noise(9))

    report = images.add_path(dataset, folder)

    assert report.added == 1
    assert report.refused[0]["file"] == "a.jpg"
    assert "another image" in report.refused[0]["why"]


def test_a_file_that_vanishes_or_may_not_be_read_is_reported(dataset, folder, monkeypatch):
    def vanish(image):
        (folder / "a.jpg").unlink(missing_ok=True)
        return read(image)

    read = images._hash
    monkeypatch.setattr(images, "_hash", vanish)

    report = images.add_path(dataset, folder)

    assert report.added == 1
    assert "cannot be read" in report.refused[0]["why"]


def test_known_files_are_looked_up_in_batches(dataset, folder, django_assert_max_num_queries):
    for number in range(30):
        (folder / f"{number}.jpg").write_bytes(samples.noise(100 + number, (8, 8)))
    images.add_path(dataset, folder)

    with django_assert_max_num_queries(2):
        images.add_path(dataset, folder)


def test_a_new_file_costs_few_queries_and_neighbours_share_a_job(
    dataset, folder, django_assert_max_num_queries
):
    for number in range(30):
        (folder / f"{number}.jpg").write_bytes(samples.noise(100 + number, (8, 8)))

    # Per file: whether such an image was removed, a savepoint and its end, the row, a savepoint and
    # its end, the waiting job.
    with django_assert_max_num_queries(2 + 7 * 32 + 6):
        images.add_path(dataset, folder)

    assert Job.objects.count() <= 2


def test_no_more_than_one_file_is_in_memory(dataset, tmp_path, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(images, "BATCH", 8)
    blank = Pillow.new("RGB", (900, 600))
    for number in range(16):
        blank.putpixel((number, 0), (255, 0, 0))
        (tmp_path / f"{number}.bmp").write_bytes(samples.saved(blank, "BMP"))
    size = (tmp_path / "0.bmp").stat().st_size

    tracemalloc.start()
    images.add_path(dataset, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert dataset.images.count() == 16
    assert peak < 5 * size


def test_a_disk_that_fills_up_midway_keeps_what_is_whole(dataset, folder, settings, full_after):
    full_after(1)

    with pytest.raises(images.StorageFull, match="1 image was added and stay"):
        images.add_path(dataset, folder)

    assert dataset.images.count() == 1
    assert len(stored(settings)) == 1


@pytest.mark.parametrize("name", ["../up.jpg", "/abs.jpg", "C:/win.jpg", "..\\up.jpg"])
def test_a_zip_slip_is_refused_and_writes_nowhere(tmp_path, name, add_zip):
    stream = samples.zipped({name: samples.noise(), "good.jpg": samples.noise(1)})

    report = add_zip(stream)

    assert report.added == 1
    assert report.refused[0]["file"] == name
    assert not [path for path in tmp_path.rglob("*.jpg") if "media" not in path.parts]


def test_an_entry_that_says_less_than_it_holds_is_refused(settings, add_zip):
    settings.ASSAY_MAX_IMAGE_BYTES = 50_000
    stream = samples.zipped({"bomb.bmp": b"\0" * 3_000_000})
    honest = (3_000_000).to_bytes(4, "little")
    content = stream.getvalue().replace(honest, (1000).to_bytes(4, "little"))
    stream.seek(0)
    stream.write(content)

    report = add_zip(stream)

    assert report.added == 0
    assert len(report.refused) == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_LZMA])
def test_a_damaged_entry_does_not_cost_the_others(add_zip, method):
    good, bad = samples.noise(1), samples.noise(2)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("bad.jpg", bad, method)
        archive.writestr("good.jpg", good)
    content = bytearray(stream.getvalue())
    content[2000:2100] = bytes(100)
    report = add_zip(io.BytesIO(content))

    assert report.added == 1
    assert report.refused[0]["file"] == "bad.jpg"
    assert "damaged in the zip" in report.refused[0]["why"]


def test_a_zip_over_the_limit_is_refused(settings, add_zip):
    settings.ASSAY_MAX_UPLOAD_BYTES = 100

    with pytest.raises(TooLarge, match="100"):
        add_zip(samples.zipped({"a.jpg": samples.jpeg()}))


def test_a_licence_with_a_nul_is_refused_and_leaves_no_file(dataset, folder):
    path = folder / "manifest.csv"
    path.write_bytes(b"file,licence\na.jpg,CC\0\n")
    report = images.add_path(dataset, path)
    [refused] = report.refused

    assert "NUL" in refused["why"]
    assert not dataset.images.exists()


def test_a_manifest_is_added_with_its_licences(dataset, folder):
    path = folder / "list.csv"
    path.write_text("file,name,licence\na.jpg,coot.jpg,CC0\nsub/b.png,,\nc.jpg,,\n")

    report = images.add_path(dataset, path, licence="MIT")

    assert report.added == 2
    assert set(dataset.images.values_list("name", "licence")) == {
        ("coot.jpg", "CC0"),
        ("sub/b.png", "MIT"),
    }
    assert report.refused == [{"file": "c.jpg (line 4)", "why": "There is no such file."}]


def test_a_path_is_added_by_what_lies_there(dataset, folder, tmp_path):
    samples.zipped({"z.jpg": samples.noise(7)}, tmp_path / "a.zip")
    (folder / "list.csv").write_text("file,name\na.jpg,renamed.jpg\n")

    assert images.add_path(dataset, folder / "list.csv").added == 1
    assert images.add_path(dataset, folder).added == 1
    assert images.add_path(dataset, tmp_path / "a.zip").added == 1
    with pytest.raises(Refusal, match="There is no"):
        images.add_path(dataset, tmp_path / "nowhere")


# The import folder


def test_paths_below_the_import_root_are_found(settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "birds").mkdir()

    assert imports.import_root_path("birds") == tmp_path / "birds"


@pytest.mark.parametrize(
    "path", ["../secret", "/etc", "leak", "leak/x.jpg", "nowhere", "https://x.org/a.zip", "", "a\0"]
)
def test_nothing_else_can_be_imported_and_the_words_tell_nothing(settings, tmp_path, path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "x.jpg").write_bytes(b"x")
    (root / "leak").symlink_to(tmp_path / "secret")
    settings.ASSAY_IMPORT_ROOT = str(root)

    with pytest.raises(Refusal) as refused:
        imports.import_root_path(path)

    assert refused.value.message.startswith("The import folder has no such file or folder")


def test_without_an_import_root_there_is_nothing_to_import(settings):
    settings.ASSAY_IMPORT_ROOT = ""

    with pytest.raises(Refusal, match="ASSAY_IMPORT_ROOT"):
        imports.import_root_path("birds")


# Derivatives


def test_a_job_makes_what_annotators_see(dataset, run_jobs):
    image = add(dataset, content=samples.with_secrets("JPEG")).image
    assert not image.display

    run_jobs()

    image.refresh_from_db()
    job = Job.objects.get()
    assert (job.state, job.progress_done, job.progress_total) == ("done", 1, 1)
    for name in (image.display, image.thumbnail):
        with name.open() as file:
            assert b"SECRET" not in file.read()


def test_an_image_added_while_the_job_runs_gets_a_job_of_its_own(dataset, run_jobs):
    add(dataset)
    running = Job.objects.get()
    Job.objects.update(state="running", claim="x")

    add(dataset, "b.jpg", samples.noise())

    waiting = Job.objects.exclude(pk=running.pk).get()
    assert waiting.state == "queued"


def test_making_derivatives_twice_changes_nothing(dataset, settings, run_jobs):
    add(dataset)
    run_jobs()
    before = stored(settings)

    Job.objects.update(state="queued")
    run_jobs()

    assert stored(settings) == before


def test_two_workers_on_one_image_leave_one_derivative(dataset, settings):
    image = add(dataset).image
    slow = Image.objects.get(pk=image.pk)

    images._derive(image)
    images._derive(slow)

    assert slow.display.name == image.display.name
    assert len(stored(settings)) == 3


def test_one_missing_file_does_not_hold_up_the_others(dataset, run_jobs, monkeypatch):
    # One job for both, whatever their ids are.
    monkeypatch.setattr(images, "BLOCK", 10**9)
    lost = add(dataset, "lost.jpg").image
    fine = add(dataset, "fine.jpg", samples.noise()).image
    lost.file.storage.delete(lost.file.name)

    run_jobs()

    fine.refresh_from_db()
    assert fine.display
    job = images.derivative_jobs(dataset).get()
    assert job.state == "failed"
    assert "1 of 2 images" in job.error
    assert "lost.jpg" in job.error


def test_derivatives_are_made_on_the_spot_where_the_job_has_not_run(dataset):
    image = add(dataset).image

    with images.open_display(image) as display, images.open_thumbnail(image) as thumbnail:
        assert display.media_type == "image/jpeg"
        assert thumbnail.media_type == "image/webp"
        assert Pillow.open(display).size == (60, 40)
        assert display.name == ""

    image.refresh_from_db()
    assert image.display
    assert image.thumbnail


def test_a_made_derivative_is_opened_without_a_query(dataset, django_assert_num_queries):
    image = add(dataset).image
    images.open_display(image).close()

    with django_assert_num_queries(0):
        images.open_display(image).close()


def test_a_lost_derivative_is_made_again(dataset):
    image = add(dataset).image
    images.open_display(image).close()
    image.display.storage.delete(image.display.name)

    with images.open_display(image) as display:
        assert Pillow.open(display).size == (60, 40)


def test_an_image_whose_file_is_gone_says_so(dataset):
    image = add(dataset).image
    image.file.storage.delete(image.file.name)

    with pytest.raises(Refusal, match="missing on the server"):
        images.open_display(image)


def test_an_image_deleted_meanwhile_says_so_and_leaves_no_derivative(dataset, settings):
    image = add(dataset).image
    Image.objects.filter(pk=image.pk).delete()
    before = stored(settings)

    with pytest.raises(Refusal, match="This image was deleted") as refused:
        images.open_display(image)

    assert refused.value.code == "file_missing"
    assert stored(settings) == before


def test_any_storage_will_do(dataset, monkeypatch, run_jobs):
    storage = InMemoryStorage()  # has no .path
    for kind in ("file", "display", "thumbnail"):
        monkeypatch.setattr(field_of(kind), "storage", storage)

    image = add(dataset).image
    run_jobs()

    image.refresh_from_db()
    with images.open_display(image) as display:
        assert Pillow.open(display).size == (60, 40)
