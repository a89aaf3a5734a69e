"""The demonstration as it comes to an empty site."""

import pytest

from annotator.demo import build, graph
from labeling.files import BadInput
from labeling.follow_ups import following
from labeling.models import Campaign, User

pytestmark = pytest.mark.django_db


def test_without_a_key_no_account_is_made(settings):
    settings.SECRET_KEY = "insecure: set SECRET_KEY"
    settings.DEBUG = False

    with pytest.raises(BadInput, match="SECRET_KEY"):
        build.load()

    assert not User.objects.exists()


def test_every_photograph_comes_with_licence_and_source(alice):
    dataset = build.make_dataset(alice)

    assert dataset.images.count() == len(graph.read_rows("images.csv"))
    assert not dataset.images.filter(licence="").exists()
    assert not dataset.images.filter(source="").exists()


@pytest.mark.ci
def test_a_load_cut_short_leaves_nothing_and_is_made_up_for(monkeypatch):
    def fail(*args):
        raise RuntimeError("the power went")

    with monkeypatch.context() as broken:
        broken.setattr(following, "advance", fail)
        with pytest.raises(RuntimeError):
            build.load()
    assert not Campaign.objects.filter(name=graph.NAME).exists()

    build.load()

    assert Campaign.objects.filter(name=graph.NAME).exists()
