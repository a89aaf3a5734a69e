"""`images add` and `jobs` from the shell, to the letter of the contract."""

import json

import pytest
from django.core.management import call_command

from labeling.datasets import images
from labeling.jobs import queue
from labeling.models import Dataset, Job
from tests import factories
from tests.cases import for_each
from tests.labeling import samples


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pictures"
    made.mkdir()
    (made / "a.jpg").write_bytes(samples.noise(1))
    (made / "copy.jpg").write_bytes(samples.noise(1))
    (made / "notes.txt").write_text("no image")
    return made


def test_a_folder_is_added_with_one_json_object(shell, dataset, folder):
    status, out, err = shell("images", "add", "pond", str(folder), "--licence", "CC0", "--json")

    assert (status, err) == (0, "")
    result = json.loads(out)
    assert result["added"] == 1
    assert result["duplicates"] == [{"file": "copy.jpg", "same_as": "a.jpg"}]
    assert [set(each) for each in result["refused"]] == [{"file", "why"}]
    assert dataset.images.get().licence == "CC0"


def test_animated_files_are_taken_by_their_first_frame_where_that_is_meant(shell, dataset, folder):
    (folder / "moving.gif").write_bytes(samples.animated("GIF"))
    (folder / "pages.tif").write_bytes(samples.animated("TIFF"))

    plain = shell.result("images", "add", "pond", str(folder))
    first = shell.result("images", "add", "pond", str(folder), "--first-frame", "--near")

    assert {row["file"] for row in plain["refused"]} == {"moving.gif", "notes.txt", "pages.tif"}
    assert {row["file"] for row in first["refused"]} == {"notes.txt", "pages.tif"}
    queue.run_all()
    assert dataset.images.get(name="moving.gif").display


def test_without_json_a_person_reads_a_table(shell, dataset, folder):
    status, out, _ = shell("images", "add", "pond", str(folder))

    assert status == 0
    assert "added" in out
    assert "notes.txt" in out
    assert "not a JPEG" in out


def test_a_long_list_is_cut_for_people_and_whole_for_programs(shell, dataset, folder):
    for number in range(30):
        (folder / f"{number}.txt").write_text("no image")

    _, table, _ = shell("images", "add", "pond", str(folder))
    _, out, _ = shell("images", "add", "pond", str(folder), "--json")

    assert "… 11 more with --json" in table
    assert len(json.loads(out)["refused"]) == 31


@for_each(
    ("dataset_name", "path", "message"),
    [
        ("lake", ".", "no dataset 'lake'"),
        ("pond", "nowhere", "nowhere"),
        ("pond", "notes.txt", "not a zip"),
    ],
)
def test_bad_input_is_one_line_and_exit_1(shell, dataset, folder, dataset_name, path, message):
    status, out, err = shell("images", "add", dataset_name, str(folder / path))

    assert (status, out) == (1, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_broken_manifest_names_its_file_and_line(shell, dataset, folder):
    path = folder / "list.csv"
    path.write_text("file,colour\na.jpg,red\n")

    status, _, err = shell("images", "add", "pond", str(path), "--json")

    error = json.loads(err)
    assert status == 1
    assert (error["file"], error["line"]) == (str(path), 1)
    assert "colour" in error["error"]


def test_wrong_usage_is_exit_2(shell, db):
    assert shell("images", "add", "pond")[0] == 2
    assert shell("images", "paint")[0] == 2


def test_the_dataset_can_be_made_with_its_owner(shell, alice, folder):
    status, _, _ = shell("images", "add", "lake", str(folder), "--create", "alice", "--json")

    assert status == 0
    assert Dataset.objects.get(name="lake").owner == alice


@for_each(("name", "owner"), [("lake", "nobody"), ("bad name!", "alice")])
def test_a_dataset_without_a_proper_owner_or_name_is_not_made(shell, alice, folder, name, owner):
    status, _, err = shell("images", "add", name, str(folder), "--create", owner)

    assert status == 1
    assert len(err.strip().splitlines()) == 1
    assert not Dataset.objects.exists()


def test_a_full_disk_ends_it_in_one_line(shell, dataset, folder, monkeypatch):
    def full(*_, **__):
        raise images.StorageFull("The disk is full. Free some space.")

    monkeypatch.setattr(images, "_store", full)

    status, _, err = shell("images", "add", "pond", str(folder))

    assert status == 1
    assert "The disk is full" in err


# jobs


def test_waiting_jobs_run_from_the_shell(shell, dataset):
    image = factories.make_image(dataset, "coot.png")
    images._enqueue_derivatives(image)

    status, out, _ = shell("jobs", "run", "--json")

    assert (status, json.loads(out)) == (0, {"ran": 1})
    image.refresh_from_db()
    assert image.display


def test_failed_jobs_are_listed_with_their_reason_and_queued_again(shell, db):
    job = Job.objects.create(kind="derivatives", key="a", state="failed", error="No disk.")

    _, table, _ = shell("jobs", "list")
    _, out, _ = shell("jobs", "list", "--json")
    status, _, _ = shell("jobs", "retry", str(job.pk))

    assert "No disk." in table
    assert json.loads(out)["jobs"][0]["error"] == "No disk."
    assert status == 0
    job.refresh_from_db()
    assert job.state == "queued"


def test_a_job_that_has_not_failed_cannot_be_queued_again(shell, db):
    job = Job.objects.create(kind="derivatives", key="a", state="done")

    assert shell("jobs", "retry", str(job.pk))[0] == 1
    assert shell("jobs", "retry", "999")[0] == 1


def test_nothing_to_do_is_said(shell, db):
    assert shell("jobs", "list")[1].split() == ["jobs", "none"]


def test_the_sweep_counts_what_it_did(db, capsys):
    call_command("jobs", "sweep", "--json")

    assert json.loads(capsys.readouterr().out) == {"sent": 0, "given_up": 0, "seats_returned": 0}
