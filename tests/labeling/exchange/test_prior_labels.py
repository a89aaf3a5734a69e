"""Given labels: what a list says of images before anybody is asked."""

import pytest

from labeling.errors import Refusal
from labeling.exchange import prior_labels
from labeling.models import GivenLabel
from tests import factories
from tests.cases import for_each
from tests.labeling.hierarchies import labels, make

DOG, CAT = "n02084071", "n02121620"


@pytest.fixture
def home(alice, dataset):
    return make(alice, dataset)


def test_labels_are_kept_with_their_geometry_and_source(home):
    rows = [
        {"image": "0.png", "key": DOG, "geometry": {"boxes": [[1, 2, 30, 40]]}},
        {"image": "1.png", "key": CAT, "value": "no"},
    ]

    assert prior_labels.add(home.dataset, rows, "VOC") == 2

    labels = list(GivenLabel.objects.order_by("pk").values("key", "value", "geometry", "source"))
    assert labels == [
        {"key": DOG, "value": "yes", "geometry": {"boxes": [[1, 2, 30, 40]]}, "source": "VOC"},
        {"key": CAT, "value": "no", "geometry": None, "source": "VOC"},
    ]


def test_the_same_source_replaces_what_it_said(home):
    prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG}], "VOC")
    prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG, "value": "no"}], "VOC")
    prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG, "value": "no"}], "COCO")

    assert list(GivenLabel.objects.order_by("pk").values_list("value", "source")) == [
        ("no", "VOC"),
        ("no", "COCO"),
    ]


@for_each(
    ("row", "words"),
    [
        ({"image": "9.png", "key": DOG}, r"Row 2: 9.png is not in pond. Add the image"),
        ({"image": "", "key": DOG}, "Row 2 has no image name"),
        ({"image": "1.png", "key": ""}, "Row 2: the class '' has 0 characters"),
        ({"image": "1.png", "key": "n" * 65}, "has 65 characters"),
        ({"image": "1.png", "key": DOG, "value": "maybe"}, "Row 2: n02084071 is 'maybe'"),
        ({"image": "0.png", "key": DOG, "value": "no"}, "was yes in row 1; keep one"),
    ],
)
def test_a_bad_row_refuses_all_of_them_by_its_number(home, row, words):
    with pytest.raises(Refusal, match=words):
        prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG}, row])

    assert not GivenLabel.objects.exists()


@for_each(
    ("row", "words"),
    [
        ({"image": "1.png", "key": "n02084072"}, r"Row 2: class 'n02084072'.*did you mean"),
        ({"image": "1.png", "key": "unheard of"}, r"Row 2: class 'unheard of'.*remove the row"),
        ({"image": "0.png", "key": "animal", "value": "no"}, r"Row 1: dog of 0.png is yes"),
    ],
)
def test_classes_that_the_graph_lacks_or_contradicts_are_named(home, row, words):
    with pytest.raises(Refusal, match=words):
        prior_labels.check(home, [{"image": "0.png", "key": DOG}, row])


def test_rows_that_fit_pass(home):
    prior_labels.check(home, [{"image": "0.png", "key": DOG}, {"image": "0.png", "key": "animal"}])


def test_yes_of_one_source_stands_against_no_of_another(home):
    prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG, "value": "yes"}], "one")
    prior_labels.add(home.dataset, [{"image": "0.png", "key": DOG, "value": "no"}], "two")

    assert labels(home)[DOG] == ("yes", "given")


def test_campaigns_without_a_graph_are_left_alone(coots):
    prior_labels.add(coots.dataset, [{"image": "coots/000.png", "key": "n02018207"}])

    assert not coots.questions.filter(follow_up=True).exists()


def test_labels_of_many_images_are_written_in_batches(alice, dataset, monkeypatch):
    monkeypatch.setattr(prior_labels, "BATCH", 2)
    for index in range(5):
        factories.make_image(dataset, f"{index}.png")

    assert prior_labels.add(dataset, [{"image": f"{i}.png", "key": DOG} for i in range(5)]) == 5
    assert GivenLabel.objects.count() == 5
