"""Objects with their parts come in: named, merged, reported; resumed; twice changes nothing."""

import errno
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from labeling.datasets import objects, vocabulary_store
from labeling.disk_full import StorageFull
from labeling.errors import Conflict, NotAllowed, NotYours, Refusal, TooLarge
from labeling.exchange import part_imports
from labeling.jobs import queue, uploads
from labeling.models import GivenLabel, Item, Job
from labeling.parts.model import Part
from tests.cases import for_each
from tests.labeling import part_files as files
from tests.labeling import pascal_mats
from tests.labeling.label_files import upload, zipped
from tests.labeling.part_files import COW, brought, cow, sent


def known(dataset):
    return list(objects.describe(objects.in_dataset(dataset)).values())


def rows():
    items = Item.objects.order_by("pk").values_list("pk", "region", "name")
    labels = GivenLabel.objects.order_by("pk")
    return list(items), list(labels.values("pk", "key", "value", "geometry", "created_at"))


def test_parts_are_named_and_the_pieces_of_one_leg_merged(meadow, run_jobs):
    job = brought(meadow, run_jobs, sent())

    assert job.state == Job.State.DONE, job.error
    report = part_imports.report_of(job)
    assert (report.objects, report.new, report.parts, report.merged) == (1, 1, 2, 1)
    (parted,) = known(meadow)
    assert (parted.category, parted.name, parted.source) == (COW, "cow-1", "cows.json")
    leg = next(part for part in parted.parts if part.key == "leg")
    assert len(leg.polygons) == 1
    assert leg.merges[0].names == ("lfuleg", "lflleg")
    assert job.progress_done == 1


def test_the_same_import_twice_changes_nothing(meadow, run_jobs):
    brought(meadow, run_jobs, sent())
    before = rows()

    report = part_imports.report_of(brought(meadow, run_jobs, sent()))

    assert (report.objects, report.new, report.changed) == (1, 0, 0)
    assert rows() == before


@pytest.mark.parametrize("format_name", ["coco", "pascal-part", "png", "label-studio"])
def test_every_format_comes_in_by_its_zip(meadow, run_jobs, tmp_path, format_name):
    folder = files.written(format_name, tmp_path / "out", cow(category=COW, name="bessie"))

    job = brought(meadow, run_jobs, files.folder_zipped(folder, "cows.zip"))

    assert job.state == Job.State.DONE, job.error
    report = part_imports.report_of(job)
    assert (report.objects, report.parts, report.merged, report.refused) == (1, 2, 1, [])
    assert known(meadow)[0].name == "bessie"


def test_pascal_part_names_images_without_their_endings(alice, run_jobs, tmp_path):
    dataset = files.meadow(alice, vocabulary=True)
    files.image(dataset, "JPEGImages/2010_000001.jpg", (120, 90))
    pascal_mats.a_scene(tmp_path, "2010_000001")

    job = brought(dataset, run_jobs, files.folder_zipped(tmp_path, "Annotations_Part.zip"))

    assert job.state == Job.State.DONE, job.error
    report = part_imports.report_of(job)
    assert report.refused == []
    assert report.objects == 3
    assert {parted.image for parted in known(dataset)} == {"JPEGImages/2010_000001.jpg"}
    legs = [part for parted in known(dataset) for part in parted.parts if part.key == "leg"]
    assert any(merge.pieces for leg in legs for merge in leg.merges)


def test_a_mat_of_another_image_size_is_refused_and_named(meadow, run_jobs, tmp_path):
    pascal_mats.a_scene(tmp_path, "2008_000585")

    job = brought(meadow, run_jobs, files.folder_zipped(tmp_path, "a.zip"))

    report = part_imports.report_of(job)
    assert report.objects == 0
    assert report.refused_count == 3
    assert "drawn on 120 x 90 pixels, but the image has 200 x 150" in report.refused[0]["why"]
    assert "2008_000585" in report.refused[0]["place"]


def test_a_mat_with_missing_fields_is_named_and_the_others_come_in(meadow, run_jobs, tmp_path):
    good = pascal_mats.an_object("cow", (150, 200), (20, 20, 120, 120))
    pascal_mats.save(tmp_path, "2008_000585", [good])
    content = pascal_mats.anno("2008_000586", [good])
    del content["imname"]
    pascal_mats.save_anno(tmp_path / "2008_000586.mat", content)

    job = brought(meadow, run_jobs, files.folder_zipped(tmp_path, "a.zip"))

    report = part_imports.report_of(job)
    assert report.objects == 1
    assert report.refused_count == 1
    assert report.refused[0]["place"].startswith("2008_000586.mat")
    assert "imname" in report.refused[0]["why"]


def test_a_list_of_objects_comes_in_without_parts(meadow, run_jobs):
    content = "image,category,x0,y0,x1,y1\n2008_000585.jpg,cow,10,20,50,60\n2008_000585.jpg,dog,,,,"

    report = part_imports.report_of(brought(meadow, run_jobs, upload(content, "objects.csv")))

    assert (report.objects, report.parts) == (2, 0)
    assert [(parted.name, parted.box) for parted in known(meadow)] == [
        ("cow-1", (10, 20, 50, 60)),
        ("dog-1", (0, 0, 200, 150)),
    ]
    # The dog fills its image.
    assert [row["object"] for row in report.no_room] == ["dog-1"]


@for_each(
    ("line", "words"),
    [
        ("2008_000585.jpg,cow,1,2,3,", "has part of a box"),
        ("2008_000585.jpg,cow,1,2,x,4", "has 'x' where a number belongs"),
        ("2008_000585.jpg,cow,5,2,3,4", "the box is inverted or empty"),
        ("2008_000585.jpg,cow,1,2,900,4", "The box 1,2,900,4 is not inside the image"),
        ("2008_000585.jpg,cow,nan,2,9,4", "x0 < x1"),
        ("a/../../b.jpg,cow,,,,", "leaves its folder"),
        ("nowhere.jpg,cow,,,,", "The image is not in meadow"),
        ("2008_000585.jpg,,,,,", "has no class"),
    ],
)
def test_a_bad_line_is_named_and_the_others_come_in(meadow, run_jobs, line, words):
    content = f"image,category,x0,y0,x1,y1\n{line}\n2008_000585.jpg,cow,1,2,50,60\n"

    report = part_imports.report_of(brought(meadow, run_jobs, upload(content, "objects.csv")))

    assert report.objects == 1
    (row,) = report.refused
    assert "line 2" in row["place"].lower()
    assert words.lower() in row["why"].lower()


def test_names_that_the_vocabulary_lacks_are_counted_and_come_in_once_it_has_them(
    alice, meadow, run_jobs
):
    strange = cow(parts=(*cow().parts, Part("udder", files.box(60, 60, 70, 70))))
    zebra = cow(category="zebra", x=100)

    job = brought(meadow, run_jobs, sent(strange, zebra))

    report = part_imports.report_of(job)
    assert report.objects == 1
    assert report.unknown_parts == [{"category": COW, "part": "udder", "count": 1}]
    assert report.unknown_categories == [{"category": "zebra", "part": "", "count": 1}]
    assert part_imports.is_kept(job)

    content = vocabulary_store.current_vocabulary(meadow).content()
    for category in content["categories"]:
        if category["key"] == COW:
            category["parts"].append({"key": "udder"})
    content["categories"].append(
        {"key": "n02391049", "name": "zebra", "parts": [{"key": "head"}, {"key": "leg"}]}
    )
    vocabulary_store.add_version(meadow, content, alice)
    again = part_imports.import_again(job, meadow, alice)
    run_jobs()
    again.refresh_from_db()

    report = part_imports.report_of(again)
    assert report.vocabulary == 2
    assert (report.objects, report.new) == (2, 1)
    cows = [parted for parted in known(meadow) if parted.category == COW]
    assert [part.key for part in cows[0].parts][-1] == "udder"


def test_pieces_too_far_apart_are_flagged(meadow, run_jobs):
    far = (Part("lfuleg", files.box(20, 25, 30, 35)), Part("lflleg", files.box(70, 95, 80, 105)))

    how = part_imports.ImportOptions(cap=0.05)
    report = part_imports.report_of(brought(meadow, run_jobs, sent(cow(parts=far)), how=how))

    assert report.apart_count == 1
    item = objects.in_dataset(meadow).get()
    assert report.apart == [
        {"image": "2008_000585.jpg", "object": "cow-1", "item": item.pk, "part": "left front leg"}
    ]
    assert known(meadow)[0].parts[0].apart


def test_the_same_object_twice_in_a_file_is_refused_once(meadow, run_jobs):
    report = part_imports.report_of(brought(meadow, run_jobs, sent(cow(), cow(), cow(x=100))))

    assert (report.objects, report.refused_count) == (2, 1)
    assert "two objects of this category with the same box" in report.refused[0]["why"]


def test_two_objects_of_one_name_are_refused_even_in_batches_apart(meadow, run_jobs, monkeypatch):
    monkeypatch.setattr(part_imports, "BATCH", 1)

    content = "image,category,name,x0,y0,x1,y1\n"
    content += "".join(f"2008_000585.jpg,cow,b,{x},20,50,60\n" for x in (10, 20))

    report = part_imports.report_of(brought(meadow, run_jobs, upload(content, "a.csv")))

    assert (report.objects, report.refused_count) == (1, 1)
    assert "are named 'b'" in report.refused[0]["why"]


def test_a_part_twice_where_one_is_allowed_refuses_the_object(meadow, run_jobs):
    twice = cow(parts=(*cow().parts, Part("HEAD", files.box(60, 60, 70, 70))))

    report = part_imports.report_of(brought(meadow, run_jobs, sent(twice, cow(x=100))))

    assert report.objects == 1
    assert "The part 'head' occurs 2 times" in report.refused[0]["why"]


def test_an_import_that_was_cut_off_goes_on_behind_its_last_batch(meadow, run_jobs, monkeypatch):
    monkeypatch.setattr(part_imports, "BATCH", 2)
    cows = [cow(x=x) for x in (0, 20, 40, 60, 80)]
    put, calls = objects.put, []

    def dying(dataset, parted, *args, **kwargs):
        calls.append(len(parted))
        if len(calls) == 2:
            raise RuntimeError("the power went")
        return put(dataset, parted, *args, **kwargs)

    monkeypatch.setattr(objects, "put", dying)
    job = part_imports.import_upload(
        meadow, meadow.owner, sent(*cows, cow(category="zebra", x=120))
    )
    queue.run(job.pk)
    job.refresh_from_db()
    assert (job.state, part_imports.report_of(job).read) == (Job.State.QUEUED, 2)
    assert objects.in_dataset(meadow).count() == 2

    queue.run(job.pk)

    job.refresh_from_db()
    report = part_imports.report_of(job)
    assert job.state == Job.State.DONE, job.error
    assert calls == [2, 2, 2, 1]
    assert (report.read, report.objects, report.new) == (6, 5, 5)
    assert len(report.unknown_categories) == 1
    assert objects.in_dataset(meadow).count() == 5


def test_faults_told_before_a_job_was_cut_off_are_told_once(meadow, run_jobs, monkeypatch):
    monkeypatch.setattr(part_imports, "BATCH", 1)
    content = (
        "image,category\n2008_000585.jpg,\n2008_000585.jpg,cow\n2008_000585.jpg,\nno.jpg,dog\n"
    )
    write, calls = part_imports._write, []

    def dying(job, report):
        write(job, report)
        calls.append(report.read)
        if len(calls) == 1:
            raise RuntimeError("the power went")

    monkeypatch.setattr(part_imports, "_write", dying)
    job = part_imports.import_upload(meadow, meadow.owner, upload(content, "a.csv"))
    # Its transaction went back with it.
    for _ in range(2):
        queue.run(job.pk)

    job.refresh_from_db()
    report = part_imports.report_of(job)
    assert job.state == Job.State.DONE, job.error
    assert (report.objects, report.refused_count) == (1, 3)


def test_another_worker_that_took_the_job_over_is_left_alone(meadow):
    job = part_imports.import_upload(meadow, meadow.owner, sent())
    job = queue.claim(job.pk)
    Job.objects.filter(pk=job.pk).update(claim="another")

    with pytest.raises(queue.LeaseLost):
        part_imports.execute(job)

    assert not objects.in_dataset(meadow).exists()


def test_without_a_vocabulary_nothing_is_taken_and_the_cure_is_named(alice):
    dataset = files.meadow(alice, vocabulary=False)

    with pytest.raises(Refusal, match=r"has no vocabulary.*start from the shipped one"):
        part_imports.import_upload(dataset, alice, sent())

    assert not Job.objects.filter(kind=part_imports.KIND).exists()


def test_only_the_owner_brings_objects_in(meadow, bob):
    with pytest.raises(NotAllowed):
        part_imports.import_upload(meadow, bob, sent())


def test_a_job_of_another_dataset_is_not_there(alice, meadow, dataset):
    job = part_imports.import_upload(meadow, alice, sent())

    with pytest.raises(NotYours):
        part_imports.job_for(dataset, job.pk)


def test_too_large_an_upload_is_refused(meadow, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 10

    with pytest.raises(TooLarge, match="the limit is 10"):
        part_imports.import_upload(meadow, meadow.owner, sent())


@for_each(
    ("file", "words"),
    [
        (upload("no json", "a.json"), "JSON"),
        (upload("{}", "a.json"), "is not a COCO file"),
        (
            upload("MATLAB 7.3 MAT-file, Platform" + " " * 99 + "\x00\x02IM", "a.mat"),
            "v7.3|HDF5|-v7",
        ),
        (upload(b"\x89PNG\r\n\x1a\n", "a.png"), "."),
        (upload("a,b\n", "a.csv"), "unknown column 'a'"),
        (upload("x", "a.txt"), "does not show its format"),
        (upload("PK no zip", "a.zip"), "not a zip"),
        (zipped({"a.txt": "x"}, "a.zip"), "has no files of objects"),
        (zipped({"a.json": "{}", "b.json": "[]"}, "a.zip"), "does not show its format"),
    ],
)
def test_a_file_that_is_none_fails_with_a_sentence_and_changes_nothing(
    meadow, run_jobs, file, words
):
    file.seek(0)
    job = brought(meadow, run_jobs, file)
    report = part_imports.report_of(job)
    text = job.error + " ".join(row["why"] for row in report.refused)

    assert any(word in text for word in words.split("|")), text
    assert "Error:" not in text
    assert not objects.in_dataset(meadow).exists()


def test_a_zip_bomb_is_refused(meadow, run_jobs, monkeypatch):
    monkeypatch.setattr(part_imports, "MAX_UNPACKED", 1000)

    job = brought(meadow, run_jobs, zipped({"a.json": "x" * 5000}, "a.zip"))

    assert job.state == Job.State.FAILED
    assert "unpacks to over" in job.error


@for_each("path", ["../../evil.json", "/etc/evil.json", "a\\b.json"])
def test_a_path_that_leaves_the_zip_is_refused_and_written_nowhere(meadow, run_jobs, path):
    job = brought(meadow, run_jobs, files.stray(path))

    assert job.state == Job.State.FAILED
    assert "name" in job.error
    assert not Path("/etc/evil.json").exists()


def test_a_full_disk_says_so_and_leaves_nothing(meadow, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(default_storage, "save", full)

    with pytest.raises(StorageFull, match="disk is full"):
        part_imports.import_upload(meadow, meadow.owner, sent())


def test_a_disk_that_fills_while_it_works_fails_the_job_with_the_cure(
    meadow, run_jobs, monkeypatch
):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(part_imports, "_lay_out", full)
    job = part_imports.import_upload(meadow, meadow.owner, sent())
    for _ in range(3):
        queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, "disk is full" in job.error) == (Job.State.FAILED, True)


def test_an_upload_goes_when_all_is_in_and_stays_while_there_is_something_to_mend(meadow, run_jobs):
    clean = brought(meadow, run_jobs, sent())
    faulty = brought(meadow, run_jobs, sent(cow(image="no.jpg")))

    assert (part_imports.is_kept(clean), part_imports.is_kept(faulty)) == (False, True)
    with pytest.raises(Refusal, match="was deleted after a week"):
        part_imports.import_again(clean, meadow, meadow.owner)


def test_uploads_are_forgotten_after_a_week_unless_a_job_waits_for_them(
    meadow, run_jobs, monkeypatch
):
    faulty = brought(meadow, run_jobs, sent(cow(image="no.jpg")))
    waiting = part_imports.import_upload(meadow, meadow.owner, sent())
    later = timezone.now() + uploads.FAILED_UPLOAD_LIFETIME + timedelta(hours=1)
    monkeypatch.setattr(uploads.timezone, "now", lambda: later)

    assert part_imports.forget_old() == 1

    assert (part_imports.is_kept(faulty), part_imports.is_kept(waiting)) == (False, True)


def test_an_import_under_way_cannot_be_repeated(meadow):
    job = part_imports.import_upload(meadow, meadow.owner, sent())

    with pytest.raises(Conflict, match="still under way"):
        part_imports.import_again(job, meadow, meadow.owner)


def test_polygons_that_cross_are_refused_or_mended_when_asked(meadow, run_jobs):
    bow = ((((20, 30), (60, 60), (60, 30), (20, 60)),),)
    crossed = cow(parts=(Part("head", bow),))

    refused = part_imports.report_of(brought(meadow, run_jobs, sent(crossed)))
    how = part_imports.ImportOptions(repair=True)
    mended = part_imports.report_of(brought(meadow, run_jobs, sent(crossed), how=how))

    assert refused.refused_count >= 1
    assert "cross" in refused.refused[0]["why"]
    assert mended.mended_count == 1
    assert (mended.objects, mended.parts) == (1, 1)


def test_an_object_with_the_name_of_another_category_is_refused(meadow, run_jobs):
    lines = "image,category,name\n2008_000585.jpg,{},rex\n"
    brought(meadow, run_jobs, upload(lines.format("dog"), "a.csv"))

    job = brought(meadow, run_jobs, upload(lines.format("cow"), "b.csv"))

    report = part_imports.report_of(job)
    assert report.refused[0]["why"].startswith(
        "'rex' already exists with the category dog, not cow"
    )
