"""What benchmarks tell the page of an image: pairs, verdicts and sequences, but no sealed ones."""

import pytest

from evaluation import hooks
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled.kind import Labeled
from evaluation.models import Benchmark, Run, Selection
from labeling.models import Campaign, Image, Question, Settlement
from labeling.reports.image_browser import PredictionFilter
from tests.clients import text_of


def image_in(row: Benchmark, name: str) -> Image:
    return row.campaign.dataset.images.select_related("dataset").get(name=name)


def uses(user, image, title: str) -> list:
    return [use for use in hooks.uses_of_image(user, image) if use.title.startswith(title)]


def test_a_competition_tells_both_predictions_and_links_to_the_pair(world):
    line = Selection.objects.select_related("benchmark__campaign").earliest("pk")
    [use, *_] = uses(world.alice, image_in(line.benchmark, line.image), line.benchmark.title)

    assert use.url.endswith(f"#image-{line.pk}")
    assert f"{line.first.name}: " in use.words
    assert f"({line.second_confidence:.2f})" in use.words


@pytest.fixture
def scored(world) -> Benchmark:
    rows = Benchmark.objects.filter(kind__in=Labeled.names, runs__state=Run.State.DONE)
    return rows.select_related("campaign__dataset").earliest("pk")


def a_line(row: Benchmark) -> str:
    from evaluation.benchmarks.kinds.labeled.images import pages

    run = runs.latest(row)
    return pages.index_of(row, run).lines[0]["image"]


def test_a_scored_benchmark_tells_each_verdict_and_leads_back(world, scored, as_alice):
    image = image_in(scored, a_line(scored))
    [use] = uses(world.alice, image, scored.title)

    assert f"{scored.submissions.first().name}: " in use.words
    page = text_of(as_alice.get(use.url))
    assert f"/datasets/{image.dataset.name}/images/{image.pk}/" in page
    image_page = text_of(as_alice.get(f"/datasets/{image.dataset.name}/images/{image.pk}/"))
    assert use.url.replace("&", "&amp;") in image_page


def test_a_sealed_benchmark_tells_nothing(world, scored, monkeypatch):
    image = image_in(scored, a_line(scored))
    monkeypatch.setattr(Labeled, "hidden", lambda _, rows, __: {row.pk for row in rows})

    assert uses(world.alice, image, scored.title) == []


def test_sequences_of_objects_are_linked(world):
    row = Benchmark.objects.get(name="reveal")
    images = row.campaign.dataset.images.select_related("dataset")
    urls = [use.url for image in images for use in uses(world.alice, image, row.title)]

    assert any("/sequences/" in url for url in urls)


def test_other_people_learn_of_no_benchmark(world, scored):
    image = image_in(scored, a_line(scored))
    assert hooks.uses_of_image(world.bob, image) == []
    assert Campaign.objects.of(world.rita, "researcher").exists()
    assert uses(world.rita, image, scored.title) == []


def predicted(user, dataset, text, submission="", outcome="") -> set[str]:
    names = list(dataset.images.values_list("name", flat=True))
    chosen = PredictionFilter(text, submission, outcome)
    return hooks.Predictions(user, dataset).matching(names, chosen)


def test_images_are_filtered_by_the_predictions_of_a_competition(world):
    line = Selection.objects.select_related("benchmark__campaign__dataset", "first").earliest("pk")
    dataset = line.benchmark.campaign.dataset
    submission = f"{line.benchmark.name}/{line.first.name}"

    assert line.image in predicted(world.alice, dataset, line.first_label)
    assert line.image in predicted(world.alice, dataset, line.first_label, submission=submission)
    assert line.image not in predicted(
        world.alice, dataset, line.second_label, submission=submission
    )
    assert predicted(world.alice, dataset, "n0") == set()
    assert predicted(world.bob, dataset, line.first_label) == set()
    assert hooks.Predictions(world.bob, dataset).submissions() == []


def test_right_predictions_of_a_competition_are_those_that_people_confirm(world):
    line = Selection.objects.select_related("benchmark__campaign__dataset", "first").earliest("pk")
    dataset = line.benchmark.campaign.dataset
    question = Question.objects.get(
        campaign=line.benchmark.campaign,
        item__image__name=line.image,
        topic=line.first_label,
        round=0,
    )
    Question.objects.filter(pk=question.pk).update(state=Question.State.SETTLED)
    by = {"submission": f"{line.benchmark.name}/{line.first.name}"}
    for value, outcome, other_outcome in (("yes", "right", "wrong"), ("no", "wrong", "right")):
        Settlement.objects.create(question=question, policy=question.policy, value=value)
        assert line.image in predicted(
            world.alice, dataset, line.first_label, outcome=outcome, **by
        )
        assert line.image not in predicted(
            world.alice, dataset, line.first_label, outcome=other_outcome, **by
        )
