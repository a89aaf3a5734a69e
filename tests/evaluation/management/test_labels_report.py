"""`labels report`: figures of a release, beside those of a second one."""

import pytest

from tests import factories
from tests.labeling.boxers import DOG
from tests.labeling.publishing import releases

pytestmark = pytest.mark.django_db


def test_two_releases_side_by_side(alice, bob, tmp_path, shell):
    releases.yes_or_no(alice, bob, factories.make_dataset(alice, "first"))
    releases.boxes(alice, bob, factories.make_dataset(alice, "second"))
    windows = tmp_path / "windows.csv"
    windows.write_text("image,rank,x0,y0,x1,y1\n0.png,1,0,0,9,9\n0.png,2,2,2,22,20\n")

    alone = shell.result("labels", "report", "labels")
    both = shell.result("labels", "report", "boxes", "labels", "--windows", windows)

    assert alone["other"] is None
    assert both["other"] == alone["release"]
    assert [row["wnid"] for row in alone["release"]["classes"]] == [DOG, "n02121620"]
    assert alone["release"]["classes"][0]["yes"] == 1
    [dog] = both["release"]["classes"]
    assert (dog["instances"], dog["clutter"]) == (2, 1.0)
    assert both["release"]["means"]["clutter"]["n"] == 1


def test_an_unknown_release_is_refused(alice, bob, shell):
    assert "there is no campaign" in shell.refusal("labels", "report", "nothing")["error"]
