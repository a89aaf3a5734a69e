"""Ground truth out of releases: what is written, left out, counted, and read back."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import LeftOutReason
from evaluation.benchmarks.kinds.labeled.truth.scenes import scenes
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import masks_of
from evaluation.readers import box_files
from evaluation.readers import wsol_folders as wsol_files
from labeling.datasets.image_sources import clean_name
from labeling.errors import Refusal
from labeling.models import Item
from labeling.releases import freezing
from labeling.releases import parts as release_parts
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import COW
from tests.labeling import label_files
from tests.labeling.parted import CAT

CAT_BOX = ("8", "6", "56", "42")


def rows(path: Path) -> list[tuple[str, ...]]:
    with open(path, encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def written(frozen, kind, folder, **how):
    folder.mkdir(exist_ok=True)
    return ground_truth.write(frozen, kind, folder, **how)


@pytest.fixture
def parts(alice, bob, dataset):
    return freezing.read(world.part_releases.release(alice, bob, dataset))


def test_classification_takes_images_of_one_class(parts, tmp_path):
    counts = written(parts, "classification", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("cats/1.png", CAT)]
    assert (counts.images, counts.classes, counts.objects) == (1, 1, 0)
    assert counts.left_out == [
        LeftOutReason(why="several classes are in it", images=1),
        LeftOutReason(why="no class is known to be in it", images=1),
    ]


def test_localization_has_every_box_of_the_class_and_the_sizes(parts, tmp_path):
    counts = written(parts, "localization", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("cats/1.png", CAT, *CAT_BOX)]
    assert rows(tmp_path / "t" / "images.csv") == [("cats/1.png", "64", "48")]
    assert counts.objects == 1


def test_detection_keeps_images_without_objects_and_excludes_what_nobody_decided(parts, tmp_path):
    counts = written(parts, "detection", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [
        ("cats/0.png", COW, "0", "0", "20", "20"),
        ("cats/0.png", CAT, *CAT_BOX),
        ("cats/1.png", CAT, *CAT_BOX),
    ]
    assert [row[0] for row in rows(tmp_path / "t" / "images.csv")] == [
        f"cats/{number}.png" for number in range(3)
    ]
    assert rows(tmp_path / "t" / "excluded.csv") == [
        ("cats/1.png", COW),
        ("cats/2.png", COW),
        ("cats/2.png", CAT),
    ]
    assert counts.notes[0].startswith("3 pairs of image and class are left out, because ")


def test_inclusive_boxes_end_on_their_last_pixel(parts, tmp_path):
    written(parts, "detection", tmp_path / "t", inclusive=True)

    assert rows(tmp_path / "t" / "truth.csv")[0] == ("cats/0.png", COW, "0", "0", "19", "19")


def test_wsol_has_boxes_and_masks_of_parts(parts, tmp_path):
    counts = written(parts, "wsol", tmp_path / "t")

    [image] = wsol_files.read_boxes(tmp_path / "t")
    [masked] = wsol_files.read_masked(tmp_path / "t" / "masks", tmp_path / "t" / "masks")
    assert (image.name, image.label, image.boxes.tolist()) == (
        "cats/1.png",
        CAT,
        [[8.0, 6.0, 56.0, 42.0]],
    )
    assert (masked.name, masked.label) == ("cats/1.png", CAT)
    assert counts.masks is True
    truth = wsol_files.read_truth(masked, tmp_path / "t" / "localization.txt", None)
    # The head was drawn again; nobody knows the outline, so the rest of the box is ignored.
    assert truth[10, 12] == 1
    assert truth[10, 10] == 255
    assert truth[0, 0] == 0
    assert (truth == 1).sum() == (22 - 11) * (20 - 8) + _torso_beside_head()


def _torso_beside_head() -> int:
    # From x = 22 to 50.3: centres up to 50; the head ends where it begins.
    return (50 - 22) * (30 - 12)


WHOLE = (0.0, 0.0, 64.0, 48.0)


def as_large_as_its_image(dataset, **fields):
    """The cat of the one image of one class, now with the box of its whole image."""
    Item.objects.filter(image__name="cats/1.png", name="cat-1").update(region=list(WHOLE), **fields)


@pytest.fixture
def settled(alice, bob, dataset):
    return world.part_releases.settled(alice, bob, dataset)


@pytest.mark.parametrize("kind", ["localization", "wsol"])
def test_an_object_whose_row_had_no_box_is_no_ground_truth(kind, settled, alice, dataset, tmp_path):
    as_large_as_its_image(dataset, is_boxed=False)
    release = freezing.read(freezing.freeze(settled, alice))

    with pytest.raises(Refusal, match="no box of an object"):
        written(release, kind, tmp_path / kind)


def test_an_object_without_a_box_leaves_its_class_out_of_its_image(
    settled, alice, dataset, tmp_path
):
    as_large_as_its_image(dataset, is_boxed=False)
    release = freezing.read(freezing.freeze(settled, alice))

    counts = written(release, "detection", tmp_path / "t")

    assert ("cats/1.png", CAT) in rows(tmp_path / "t" / "excluded.csv")
    assert "cats/1.png" not in [row[0] for row in rows(tmp_path / "t" / "truth.csv")]
    assert any(note.startswith("1 object is without ground truth") for note in counts.notes)
    assert written(release, "classification", tmp_path / "c").images == 1


def test_a_drawn_box_may_be_as_large_as_its_image(settled, alice, dataset, tmp_path):
    as_large_as_its_image(dataset)
    release = freezing.read(freezing.freeze(settled, alice))

    written(release, "localization", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("cats/1.png", CAT, "0", "0", "64", "48")]


def test_older_releases_tell_a_box_that_nobody_drew_by_its_size(
    settled, alice, dataset, tmp_path, monkeypatch
):
    as_large_as_its_image(dataset)
    monkeypatch.setattr(release_parts.FrozenObjects, "box_note", lambda *_: {})
    release = freezing.read(freezing.freeze(settled, alice))

    with pytest.raises(Refusal, match="no box of an object"):
        written(release, "localization", tmp_path / "t")


def test_rows_without_a_box_say_so_of_their_objects(alice, dataset, shell, tmp_path):
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    content = f"image,category,x0,y0,x1,y1\na.png,{CAT},,,,\nb.png,{CAT},0,0,64,48\n"
    (tmp_path / "objects.csv").write_text(content)

    shell.result(
        *("labels", "import", dataset.name, tmp_path / "objects.csv"),
        *("--parts", "--vocabulary", "shipped"),
    )

    objects = Item.objects.filter(region__isnull=False)
    assert {instance.image.name: instance.is_boxed for instance in objects} == {
        "a.png": False,
        "b.png": True,
    }


def test_an_outline_joins_the_parts_and_leaves_nothing_to_ignore(parts):
    first = next(scenes(parts, with_objects=True))

    mask, ignore = masks_of(first)

    # The cat's outline is 8 6 56 42; the cow has none, so its box is ignored where no cat is.
    assert mask[6:42, 8:56].all()
    assert ignore[0, 0]
    assert ignore[5, 19]
    assert not ignore[10, 10]
    assert not ignore[:, 20:].any()
    # The cow's head, 2 2 9.5 9.5.
    assert mask[2, 2]
    assert mask[8, 8]


def test_objects_that_were_not_settled_are_ignored(parts):
    *_, last = scenes(parts, with_objects=True)

    mask, ignore = masks_of(last)

    assert last.photo.name == "cats/2.png"
    assert not mask.any()
    assert ignore[6:42, 8:56].all()
    assert ignore.sum() == 48 * 36


def test_a_release_without_boxes_is_for_classification_only(alice, bob, dataset, tmp_path):
    campaign = factories.make_campaign(alice, dataset, images=2, policy={"votes": 1})
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], crowd.right_is(crowd.COOT))
    frozen = freezing.read(freezing.freeze(campaign, alice))

    counts = written(frozen, "classification", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [
        (f"coots/00{n}.png", "n02018207") for n in range(2)
    ]
    assert counts.left_out == []
    for kind in ("localization", "detection", "wsol"):
        with pytest.raises(Refusal, match="has no box of an object") as refusal:
            ground_truth.count(frozen, kind)
        assert refusal.value.field == "kind"


def test_given_boxes_of_a_graph_become_truth(alice, dataset, tmp_path):
    frozen = freezing.read(label_files.home_release(alice, dataset))

    counts = written(frozen, "localization", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("1.png", label_files.CUP, "1", "2", "5", "7.5")]
    assert counts.left_out == [
        LeftOutReason(why="no class is known to be in it", images=1),
        LeftOutReason(why="its class has no box", images=1),
    ]
    assert ground_truth.count(frozen, "localization") == counts


def test_a_class_without_a_box_is_excluded_from_detection(alice, dataset, tmp_path):
    frozen = freezing.read(label_files.home_release(alice, dataset))

    written(frozen, "detection", tmp_path / "t")

    # 0.png shows a dog that nobody boxed.
    assert ("0.png", label_files.DOG) in rows(tmp_path / "t" / "excluded.csv")
    assert ("0.png", label_files.CAT) not in rows(tmp_path / "t" / "excluded.csv")


def test_a_class_with_an_unsettled_object_is_excluded_from_detection(tmp_path):
    images = {"a.png": {CAT: [[1, 1, 9, 9], None]}, "b.png": {CAT: [[2, 2, 9, 9]]}}
    frozen = world.frozen_of(tmp_path, images)

    counts = written(frozen, "detection", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("b.png", CAT, "2", "2", "9", "9")]
    assert rows(tmp_path / "t" / "excluded.csv") == [("a.png", CAT)]
    assert counts.objects == 1
    assert ground_truth.count(frozen, "localization").notes == [
        "1 object was asked about but not settled: the ground truth lacks their boxes"
    ]


def test_boxes_are_cut_at_the_image_and_gone_where_they_are_outside(tmp_path):
    images = {"a.png": {CAT: [[-3, 2.25, 70, 50]]}, "b.png": {CAT: [[64, 0, 70, 9]]}}

    counts = written(world.frozen_of(tmp_path, images), "localization", tmp_path / "t")

    assert rows(tmp_path / "t" / "truth.csv") == [("a.png", CAT, "0", "2.25", "64", "48")]
    assert counts.left_out == [LeftOutReason(why="its class has no box", images=1)]


def test_open_questions_are_told(tmp_path):
    counts = {"open": 3, "review": 1}
    frozen = world.frozen_of(tmp_path, {"a.png": {CAT: [[1, 1, 9, 9]]}}, counts=counts)

    assert ground_truth.count(frozen, "wsol").notes == [
        "4 questions were open when the release was frozen and missing from the ground truth"
    ]


@pytest.mark.parametrize(
    ("image", "key", "boxes", "message"),
    [
        ("a.png", "a,b", 1, "has a comma"),
        ("a" * 252, CAT, 1, "too long a name"),
        ("a.png", CAT, 1001, "more than 1,000 boxes"),
    ],
)
def test_what_a_wsol_folder_cannot_hold_is_refused(tmp_path, image, key, boxes, message):
    frozen = world.frozen_of(tmp_path, {image: {key: [[1, 1, 9, 9]] * boxes}})

    with pytest.raises(Refusal, match=message):
        written(frozen, "wsol", tmp_path / "t")


def cleaned(name: str) -> str | None:
    try:
        return clean_name(name)
    except Refusal:
        return None


names = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
    .map(cleaned)
    .filter(lambda name: name is not None and all(map(str.strip, name.split("/"))))
)
boxes = st.lists(
    st.tuples(st.floats(0, 30), st.floats(0, 20), st.floats(31, 64), st.floats(21, 48)),
    min_size=1,
    max_size=3,
)


@given(images=st.dictionaries(names, boxes, min_size=1, max_size=4))
def test_readers_take_every_name_and_every_box(wordnet, tmp_path_factory, images):
    folder = tmp_path_factory.mktemp("names")
    frozen = world.frozen_of(
        folder, {name: {CAT: image_boxes} for name, image_boxes in images.items()}
    )
    for kind in ("localization", "wsol"):
        written(frozen, kind, folder / kind)

    there = wsol_files.read_boxes(folder / "wsol")
    assert {image.name: image.boxes.tolist() for image in there} == {
        name: [list(box) for box in image_boxes] for name, image_boxes in images.items()
    }
    truth = box_files.read_truth(
        folder / "localization" / "truth.csv",
        box_files.BoxReading(images=folder / "localization" / "images.csv"),
    )
    assert truth.images.places == {name: at for at, name in enumerate(sorted(images))}
    corners = np.concatenate([np.array(images[name]) for name in sorted(images)])
    np.testing.assert_array_equal(truth.objects.boxes.corners, corners)
