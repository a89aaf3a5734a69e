"""Reports of releases, with numbers worked out by hand."""

import math
from types import SimpleNamespace

import pytest

from evaluation.scoring import release_report
from labeling.files import BadInput
from labeling.formats.label import Instance, Label
from labeling.kinds import KINDS
from labeling.parts.model import Photograph
from labeling.releases import freezing
from tests import factories
from tests.labeling.boxers import DOG
from tests.labeling.publishing import releases

CAT = "n02121620"


def vote(image, annotator, value, counted=True):
    of_a_vote = {"duration_ms": 1, "late": False, "revision": 0}
    return {"annotator": annotator, "image": image, "wnid": CAT, "value": value} | {
        "counted": counted,
        **of_a_vote,
    }


@pytest.fixture
def release(monkeypatch):
    """Two cats side by side and a third elsewhere; three people, of whom one disagrees once."""
    photos = [Photograph("a.png", 10, 10), Photograph("b.png", 20, 10), Photograph("c.png", 10, 10)]
    boxes = {
        "a.png": (Instance((0.0, 0.0, 2.0, 2.0)), Instance((2.0, 0.0, 4.0, 2.0))),
        "b.png": (Instance((0.0, 0.0, 4.0, 2.0)),),
    }
    pages = [
        (photo, [Label(photo.name, CAT, "yes" if photo.name in boxes else "no", instances=shapes)])
        for photo in photos
        for shapes in [boxes.get(photo.name, ())]
    ]
    monkeypatch.setattr("labeling.release_files.exporting.pages", lambda _: iter(pages))
    monkeypatch.setattr("labeling.release_files.exporting.classes_of", lambda _: {CAT: "cat"})
    votes = [
        *(
            vote("a.png", name, value)
            for name, value in zip("pqr", ("yes", "yes", "no"), strict=True)
        ),
        *(vote("c.png", name, "no") for name in "pq"),
        vote("c.png", "r", "yes", counted=False),
    ]
    return SimpleNamespace(
        meta={
            "campaign": {"name": "cats", "title": "Cats", "kind": "contains"},
            "counts": {"images": 3, "votes": 6},
            "sha256": "0" * 64,
            "files": {},
        },
        kind=KINDS["contains"],
        votes=lambda: iter(votes),
    )


def test_scale_cpl_and_neighbours_by_hand(release):
    made = release_report.report(release)

    [cat] = made.classes
    assert (cat.yes, cat.no, cat.undecided, cat.images, cat.instances) == (2, 1, 0, 2, 3)
    # All three cover 4 % of their images: the third is 4 × 2 of 20 × 10.
    assert cat.scale == pytest.approx(0.04)
    # In unit images the first and the third are the same box: 2 of 6 ordered pairs.
    assert cat.cpl == pytest.approx(1 / 3)
    # The two in one image touch.
    assert cat.neighbours_per_instance == pytest.approx(2 / 3)
    assert cat.instances_per_image == 1.5
    assert cat.clutter is None
    assert made.positive.to_json() == {"total": 2, "least": 2, "median": 2.0, "most": 2}
    assert made.means["scale"].counts == [1, *[0] * 9]
    assert (made.means["cpl"].n, made.means["clutter"].mean) == (1, None)


def test_agreement_by_hand(release):
    made = release_report.report(release)

    # 5 counted votes: 3 no, 2 yes; 4 unlike ordered pairs among 3 votes.
    assert made.agreement.value == pytest.approx(1 - 4 * 2 / (25 - 13))
    assert made.agreement.share == pytest.approx(0.6)
    assert (made.agreement.measure, made.agreement.n) == ("alpha", 2)
    assert [(row.name, row.votes) for row in made.people] == [("p", 2), ("q", 2), ("r", 2)]


def test_clutter_by_hand(release, tmp_path):
    path = tmp_path / "windows.csv"
    rows = [
        "image,rank,x0,y0,x1,y1",
        # Of 4 and 8 pixels, 4 in both: IoU 0.5.
        *("a.png,1,5,5,9,9", "a.png,2,0,0,4,2"),
        # None fits: 1,001.
        "b.png,1,10,5,20,10",
        "c.png,1,0,0,9,9",
        "d.png,1,0,0,9,9",
    ]
    path.write_text("\n".join(rows) + "\n")

    [cat] = release_report.report(release, path).classes

    assert cat.clutter_images == 2
    assert cat.clutter == pytest.approx(math.log2((2 + 1001) / 2))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a.png,3,0,0,4,2", "the rank is 3, expected 2"),
        ("a.png,2,4,0,4,2", "the window is empty"),
        ("a.png,2,x,0,4,2", "'x' is not a number"),
        ("b.png,1,0,0,4,2\na.png,1,0,0,1,1", "a.png is repeated"),
    ],
)
def test_faults_in_windows_are_refused_with_their_line(release, tmp_path, row, message):
    path = tmp_path / "windows.csv"
    path.write_text(f"image,rank,x0,y0,x1,y1\na.png,1,0,0,4,2\n{row}\n")

    with pytest.raises(BadInput, match=message):
        release_report.report(release, path)


@pytest.mark.django_db
def test_every_kind_of_release_has_a_report(alice, bob, tmp_path):
    made = {}
    for kind, make in releases.KINDS.items():
        row = make(alice, bob, factories.make_dataset(alice, f"of-{kind}"))
        made[kind] = release_report.report(freezing.read(row))

    assert {kind: row.agreement.measure for kind, row in made.items()} == {
        "contains": "alpha",
        "naming": "alpha",
        "hierarchy": "alpha",
        "boxes": "",
        "parts": "",
    }
    [dog] = made["boxes"].classes
    assert (dog.wnid, dog.scale) == (DOG, pytest.approx((400 + 600) / 2 / (64 * 48)))
    assert made["parts"].instances.total == 3
    for row in made.values():
        assert all(person.name.startswith("annotator-") for person in row.people)
        assert release_report.ReleaseReport.from_json(row.to_json()) == row
