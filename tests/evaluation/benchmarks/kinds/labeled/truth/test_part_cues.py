"""Drawn parts as cues of classes."""

import pytest
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import paths
from evaluation.benchmarks.kinds.labeled.truth.part_cues import CUES, PartCues
from evaluation.benchmarks.kinds.labeled.truth.scenes import LabeledScene
from evaluation.scoring.wsol import cues as wsol_cues
from labeling.parts.model import Part, PartedObject, Photograph
from tests.clients import html_of
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.test_running import finished

BOX = (0.0, 0.0, 8.0, 8.0)
SQUARE = (((0.0, 0.0), (4.0, 0.0), (4.0, 4.0)),)


def scene(name, **parts_by_class):
    """An image with an object of each class, with these drawn parts."""
    objects = [
        PartedObject(name, key, BOX, tuple(Part(part, SQUARE) for part in parts))
        for key, parts in parts_by_class.items()
    ]
    boxes = {key: [BOX] for key in parts_by_class}
    return LabeledScene(Photograph(name, 8, 8), boxes, frozenset(), objects)


def cues_of(*scenes):
    cues = PartCues()
    for each in scenes:
        cues.add(each)
    return list(cues.rows())


def test_parts_of_the_class_are_foreground_and_others_background():
    rows = cues_of(
        scene("a", cat=["head", "tail"]),
        scene("b", cat=["head"], person=["head", "hand"]),
        scene("c", person=["hand"]),
    )

    assert rows == [
        wsol_cues.COLUMNS,
        ("cat", "hand", "background", 1, 1),
        ("cat", "head", "foreground", 3, 0),
        ("cat", "tail", "foreground", 1, 0),
        ("person", "hand", "foreground", 2, 0),
        ("person", "head", "foreground", 2, 1),
        ("person", "tail", "background", 0, 1),
    ]


def test_the_command_reads_them(tmp_path):
    path = tmp_path / CUES
    rows = cues_of(scene("a", cat=["head"]), scene("b", cat=["head"], person=["hand"]))
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))

    result = wsol_cues.score(wsol_cues.read_cues(path))

    # p(cat | head) = 1, p(cat | hand) = 1; p(person | hand) = 1, p(person | head) = 1/2.
    assert result.classes["cat"].least_alpha == 1
    assert result.classes["person"].least_alpha == 2
    assert result.well_posed == 1


@pytest.mark.parametrize(
    "scenes",
    [
        [],
        [scene("a", cat=["head"])],
        [scene("a", cat=["head"], person=["head"])],
        [scene("a", cat=[], person=[])],
    ],
)
def test_without_parts_of_both_regions_there_are_no_rows(scenes):
    assert cues_of(*scenes) == []


def test_undrawn_parts_do_not_count():
    absent = PartedObject("a", "cat", BOX, (Part("tail", (), "absent"),))
    image = LabeledScene(Photograph("a", 8, 8), {"cat": [BOX]}, frozenset(), [absent])

    assert cues_of(image, scene("b", dog=["head"])) == []


def test_the_page_shows_the_shares_of_the_release(
    wordnet, alice, cats, tmp_path, run_jobs, as_alice
):
    benchmark = world.make(alice, cats, "wsol", thresholds=50)
    world.submit(benchmark, alice, tmp_path)
    finished(benchmark, run_jobs)
    address = reverse("evaluation:benchmark", args=[benchmark.name])
    path = paths.truth_folder(benchmark) / CUES

    page = " ".join(html_of(as_alice.get(address)).split())
    for label, cues in wsol_cues.read_cues(path).items():
        for cue, share in wsol_cues.class_cues(cues).posteriors.items():
            assert f"{cue} {share:.2f}" in page, label
    path.unlink()
    assert "Parts as cues" not in html_of(as_alice.get(address))
