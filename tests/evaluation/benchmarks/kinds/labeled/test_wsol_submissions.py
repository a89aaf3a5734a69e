"""What WSOL submissions may have beside maps: classes of a classifier, and the baseline."""

import io
import zipfile
from dataclasses import replace

import pytest
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import paths, rows, running, scoremap_zips
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.readers.wsol_folders import class_rights, read_boxes
from evaluation.scoring.wsol.scoring import BoxScoring
from labeling.files import BadInput
from tests.clients import html_of, program
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.test_running import finished


@pytest.fixture
def benchmark(wordnet, alice, cats):
    return world.make(alice, cats, "wsol", thresholds=50)


@pytest.fixture
def images(benchmark):
    return read_boxes(paths.truth_folder(benchmark))


def with_classes(benchmark, text):
    """The usual zip of maps with this predictions.csv."""
    stream = io.BytesIO(world.usual(benchmark))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("predictions.csv", text)
    return stream.getvalue()


def test_classes_beside_the_maps_give_top_1_localization(
    benchmark, images, alice, tmp_path, run_jobs, as_alice
):
    """As `score wsol --predictions` scores it."""
    lines = "".join(f"{image.name},{image.label}\n" for image in images)
    world.submit(benchmark, alice, tmp_path, content=with_classes(benchmark, lines))
    path = tmp_path / "predictions.csv"
    path.write_text(lines)

    run = finished(benchmark, run_jobs)

    [row] = run.result["submissions"]
    protocol = LabeledResult.from_json(run.result).settings.as_protocol()
    by_hand = BoxScoring.read(paths.truth_folder(benchmark), protocol, path).score(
        paths.submission_path(benchmark.submissions.get())
    )
    assert row["result"]["top1_localization"] == by_hand.top1_localization.to_json()
    assert row["result"]["top1_accuracy"] == 1
    page = as_alice.get(reverse("evaluation:benchmark", args=[benchmark.name]))
    assert "Top-1 localization" in html_of(page)


def test_classes_that_lack_an_image_or_name_an_unknown_one_are_refused(
    benchmark, images, alice, tmp_path
):
    lines = [f"{image.name},{image.label}" for image in images]
    faults = {
        "\n".join(lines[1:]): f"{images[0].name} is missing",
        "\n".join([*lines, "nobody.png,cat"]): "is not in image_ids.txt",
        "\n".join([*lines, lines[0]]): "is already in line 1",
    }
    for text, message in faults.items():
        with pytest.raises(BadInput, match=message):
            world.submit(benchmark, alice, tmp_path, content=with_classes(benchmark, text))
    assert not benchmark.submissions.exists()


def test_a_file_of_classes_too_large_to_be_read_is_refused(benchmark, alice, tmp_path, monkeypatch):
    monkeypatch.setattr(scoremap_zips, "MAX_PREDICTIONS", 1 << 20)
    with pytest.raises(BadInput, match="is larger than 1 MiB"):
        world.submit(benchmark, alice, tmp_path, content=with_classes(benchmark, "a" * (2 << 20)))


@pytest.mark.parametrize("name", ["predictions.csv", "center-gaussian.txt"])
def test_folders_called_as_the_files_beside_the_maps_are_no_such_files(
    benchmark, alice, tmp_path, name
):
    stream = io.BytesIO(world.usual(benchmark))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(f"{name}/x.npy", world.npy(world.ramp()))

    with pytest.raises(BadInput, match="belongs to no id"):
        world.submit(benchmark, alice, tmp_path, content=stream.getvalue())


@pytest.mark.parametrize("field", ["campaign", "number", "annotator"])
def test_the_baseline_takes_no_release(benchmark, alice, field):
    answer = program(alice).put(
        f"/api/v1/benchmarks/{benchmark.name}/submissions/center/",
        {"baseline": True, field: "1"},
        format="json",
    )

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "baseline"


def test_a_later_truth_ignores_rows_it_lacks_and_counts_missing_ones_as_wrong(images, tmp_path):
    [first] = images
    second = replace(first, name="cats/2.png")
    path = tmp_path / "predictions.csv"
    path.write_text(f"gone.png,dog\n{first.name},{first.label}\n")

    assert class_rights(path, [first, second]) == {first.name: True, second.name: False}
    path.write_text(f"{first.name},dog\n")
    assert class_rights(path, [first]) == {first.name: False}


def test_other_classes_are_another_attempt(benchmark, images, alice, tmp_path):
    lines = "".join(f"{image.name},{image.label}\n" for image in images)

    world.submit(benchmark, alice, tmp_path)
    row = world.submit(benchmark, alice, tmp_path, content=with_classes(benchmark, lines))

    assert row.attempts == 2


def test_the_baseline_needs_no_file(benchmark, alice, run_jobs, as_alice):
    url = reverse("evaluation:submissions", args=[benchmark.name])
    assert as_alice.post(url, {"name": "center", "baseline": "on"}).status_code == 302
    by_program = program(alice).put(
        f"/api/v1/benchmarks/{benchmark.name}/submissions/again/", {"baseline": True}, format="json"
    )
    assert by_program.status_code == 200, by_program.content

    run = finished(benchmark, run_jobs)

    protocol = LabeledResult.from_json(run.result).settings.as_protocol()
    by_hand = BoxScoring.read(paths.truth_folder(benchmark), protocol).score(None)
    for row in run.result["submissions"]:
        assert row["result"]["max_box_acc"] == by_hand.max_box_acc.to_json()
        assert row["result"]["max_box_acc_v2"] == by_hand.max_box_acc_v2.to_json()


@pytest.mark.parametrize("fields", [{}, {"baseline": "on", "file": "maps"}])
def test_a_file_or_the_baseline_is_required(benchmark, as_alice, fields):
    sent = dict(fields)
    if "file" in sent:
        sent["file"] = io.BytesIO(world.usual(benchmark))
    page = as_alice.post(
        reverse("evaluation:submissions", args=[benchmark.name]), {"name": "center"} | sent
    )

    assert "Choose a file, or the baseline." in html_of(page)
    assert not benchmark.submissions.exists()


def test_other_kinds_have_no_baseline(wordnet, alice, cats):
    benchmark = world.make(alice, cats, "detection")

    answer = program(alice).put(
        f"/api/v1/benchmarks/{benchmark.name}/submissions/center/",
        {"baseline": True},
        format="json",
    )

    assert answer.status_code == 400
    assert "Only WSOL has a baseline" in answer.content.decode()


def test_accuracies_at_the_fixed_threshold_stand_beside_the_best(
    benchmark, alice, tmp_path, run_jobs
):
    world.submit(benchmark, alice, tmp_path)
    run = finished(benchmark, run_jobs)
    result = result_of(benchmark, run)

    fixed = [row for row in rows.thresholds(result) if row.cells[0].threshold == rows.FIXED_TAU]

    curves = result.curves["alpha"].boxes
    at = curves.thresholds.index(rows.FIXED_TAU)
    by_iou = [curve[at] for curve in curves.box_acc_v2.values()]
    assert [row.cells[0].value for row in fixed] == [curves.box_acc[at], sum(by_iou) / len(by_iou)]
    assert all(row.cells[0].low <= row.cells[0].value <= row.cells[0].high for row in fixed)


def result_of(benchmark, run):
    """The result with its curves, as pages read it."""
    result = LabeledResult.from_json(run.result)
    result.curves = running.curves_of(benchmark, run.pk)
    return result


def test_an_image_has_the_maps_of_all_submissions_side_by_side(
    benchmark, images, alice, tmp_path, run_jobs, as_alice
):
    world.submit(benchmark, alice, tmp_path)
    as_alice.post(
        reverse("evaluation:submissions", args=[benchmark.name]),
        {"name": "center", "baseline": "on"},
    )
    run = finished(benchmark, run_jobs)
    address = reverse("evaluation:labeled_image", args=[benchmark.name, run.pk, 0])

    page = html_of(as_alice.get(f"{address}?classifier=alpha&number=0.5"))

    maps = reverse("evaluation:labeled_map", args=[benchmark.name, run.pk, 0])
    for name in ("alpha", "center"):
        assert f'aria-label="Score map of {name}"' in page
        assert f"{maps}?classifier={name}" in page
        answer = as_alice.get(f"{maps}?classifier={name}")
        assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
