"""Reviews of the second edition become versions of the truth, and nothing is lost."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.models import MistakeReview, Run, TruthVersion
from tests.evaluation.benchmarks.kinds.labeled.label_sets.ducks import answered, opened, scored

SECOND_EDITION = [("evaluation", "0006_release_splits")]
VALUES = ("number", "release", "review", "sha256", "changed")


def upgrade() -> None:
    """Take the tables of truth versions away, as before them, and migrate again."""
    executor = MigrationExecutor(connection)
    executor.migrate(SECOND_EDITION)
    executor.loader.build_graph()
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.django_db(transaction=True)
def test_an_applied_and_an_open_review_outlive_the_upgrade(drakes, alice, bob, charlie):
    scored(drakes, alice)
    review = answered(opened(drakes, alice), bob)
    apply_answers(drakes, alice, review.campaign)
    scored(drakes, alice)
    waiting = opened(drakes, alice, name="third-look")
    results = dict(Run.objects.values_list("pk", "result"))
    stored = list(MistakeReview.objects.order_by("pk").values())
    first, second = TruthVersion.objects.order_by("number").values(*VALUES)

    upgrade()

    drakes.refresh_from_db()
    assert dict(Run.objects.values_list("pk", "result")) == results
    assert list(MistakeReview.objects.order_by("pk").values()) == stored
    opening, reviewed = TruthVersion.objects.order_by("number").values(*VALUES)
    assert reviewed == second
    assert (opening["number"], opening["release"]) == (1, first["release"])
    run = scored(drakes, alice)
    assert run.result["label_sets"] == results[max(results)]["label_sets"]
    waiting.refresh_from_db()
    made = apply_answers(drakes, alice, answered(waiting, charlie).campaign)
    assert made.version == 3
    assert [row["version"] for row in scored(drakes, alice).result["label_sets"]] == [1, 2, 3]
