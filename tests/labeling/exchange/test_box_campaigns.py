"""Boxes are in the pixels of the upright image, however its file is turned."""

import io

import pytest
from PIL import Image as Pillow

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.errors import Refusal
from labeling.exchange import box_campaigns, lists
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import DOG, box

pytestmark = pytest.mark.django_db
# Of the file as it lies on its side, 64 × 48; people see 48 × 64.
LYING, UPRIGHT = [40, 2, 60, 40], [2, 40, 40, 60]
QUARTER_TURN = 6


@pytest.fixture
def turned(dataset, tmp_path):
    exif = Pillow.Exif()
    exif[0x0112] = QUARTER_TURN
    stream = io.BytesIO()
    Pillow.new("RGB", (64, 48), "olive").save(stream, "JPEG", exif=exif)
    (tmp_path / "turned.jpg").write_bytes(stream.getvalue())
    images.add_path(dataset, tmp_path)
    return "turned.jpg"


@pytest.fixture
def campaign(alice, dataset, turned):
    made = boxers.make(alice, dataset, images=0)
    box_campaigns.ask(made, [(turned, DOG)])
    lifecycle.launch(made, alice)
    return made


def test_a_proposal_in_the_pixels_of_the_file_is_refused_by_its_line(dataset, turned):
    def propose(sides):
        line = ",".join(map(str, [turned, DOG, 0.9, *sides]))
        rows = lists.read_proposals(f"image,wnid,confidence,x0,y0,x1,y1\n{line}")
        return box_campaigns.propose(dataset, [(turned, DOG)], rows)

    with pytest.raises(Refusal, match=r"Line 2: .* its upright image of 48 × 64 pixels"):
        propose(LYING)

    assert propose(UPRIGHT).boxes == {(turned, DOG): [tuple(UPRIGHT)]}


def test_a_drawing_in_the_pixels_of_the_file_is_refused(campaign):
    [person] = boxers.people(campaign, 1)
    [seat] = claiming.next_page(person, campaign, 1).seats

    refused = boxers.answer(person, seat, box(LYING))

    assert "the upright image of 48 × 64 pixels" in refused.message
    assert boxers.answer(person, seat, box(UPRIGHT)).status == "accepted"


def test_gold_in_the_pixels_of_the_file_is_refused_by_its_row(alice, campaign, dataset, turned):
    unrelated = factories.make_image(dataset, "other.png").name
    campaign.questions.all().delete()
    rows = [
        {"image": unrelated, "topic": DOG, "answer": [[1, 1, 20, 20]]},
        {"image": turned, "topic": DOG, "answer": [LYING]},
    ]

    with pytest.raises(Refusal, match=r"Row 2: .* 48 × 64"):
        add_gold(campaign, alice, rows)

    assert not campaign.questions.exists()
