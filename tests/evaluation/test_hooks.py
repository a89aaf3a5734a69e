"""What labeling asks of evaluation through the settings."""

from evaluation import hooks
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark
from labeling.follow_ups import opening


def test_a_benchmark_is_linked_from_its_campaign(client, coots, alice):
    Benchmark.objects.create(name="ponds", title="Ponds", campaign=coots, created_by=alice)
    client.force_login(alice)

    page = client.get("/campaigns/coots/").content.decode()

    assert '<a href="/benchmarks/ponds/">benchmark Ponds</a>' in page


def test_a_reviewer_is_not_told_what_is_made_of_the_answers(client, coots, alice, bob):
    Benchmark.objects.create(name="ponds", title="Ponds", campaign=coots, created_by=alice)
    coots.memberships.filter(user=bob).update(role="reviewer")
    client.force_login(bob)

    page = client.get("/campaigns/coots/")

    assert page.status_code == 200
    assert "Ponds" not in page.content.decode()


def test_classes_that_no_list_names_are_described_by_wordnet(coots, wordnet):
    opening.ask(coots, [("coots/000.png", "n01847000"), ("coots/000.png", "mine")])

    assert coots.topics.get(key="n01847000").definition
    assert coots.topics.get(key="n01847000").name == "drake"
    assert coots.topics.get(key="mine").name == "mine"


def test_without_wordnet_classes_are_called_by_their_identifiers(coots, monkeypatch):
    def lost():
        raise nouns.WordNetMissing("not here")

    monkeypatch.setattr(nouns, "load", lost)

    assert hooks.glossary(["n01847000"]) == []
    opening.ask(coots, [("coots/000.png", "n01847000")])
    assert coots.topics.get(key="n01847000").name == "n01847000"
