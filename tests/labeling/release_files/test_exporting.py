"""The labels of a release as every format writes them."""

from types import SimpleNamespace

from labeling.kinds import KINDS
from labeling.release_files import exporting

CAT = "n02121620"
KNOWN = {"image": "a.png", "node": "cat", "wnid": CAT, "value": "yes"}
BOX = [1.0, 2.0, 30.0, 40.0]


def released(*rows):
    label = {"image": "a.png", "wnid": CAT, "value": "yes", "origin": "given", "probability": None}
    photo = {"name": "a.png", "width": 50, "height": 50, "sha256": "", "licence": "", "source": ""}
    return SimpleNamespace(
        meta={"campaign": {"settings": {}}, "files": {}},
        kind=KINDS["contains"],
        labels=lambda: iter([label]),
        known_labels=lambda: iter(rows),
        images=lambda: iter([photo]),
        topics=lambda: iter(()),
        graph=lambda: None,
    )


def test_gold_without_a_shape_hides_no_box_that_was_imported():
    gold = KNOWN | {"source": "known", "geometry": None}
    imported = KNOWN | {"source": "a list", "geometry": {"boxes": [BOX]}}

    [(_, [label])] = exporting.pages(released(gold, imported))

    assert [drawn.box for drawn in label.instances] == [tuple(BOX)]
    assert label.source == "a list"
