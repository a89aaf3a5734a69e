"""The steps of the benchmark that need Django, each in a process of its own."""

from benchmarks import bench_along, bench_labeling, own_process
from benchmarks.bench_along import QUESTIONS, TAKEN, key_of


def prepare(images: int) -> str:
    """A campaign of which one person may take 200 questions along; the person's session."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from labeling.campaigns import lifecycle
    from labeling.db import question_counts
    from labeling.follow_ups import asking
    from labeling.models import Dataset, Gold

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user(
        "owner", is_researcher=True, tutorials=["contains"]
    )
    dataset = Dataset.objects.create(owner=owner, name="along")
    names = bench_labeling._photographs(dataset, images)
    campaign = lifecycle.create(
        owner,
        name="along",
        title="Along",
        kind="contains",
        dataset=dataset,
        policy={"votes": 1, "gold_share": 0.1, "gold_action": "none"},
    )
    keys = [f"n{index:08}" for index in range(QUESTIONS // images)]
    lifecycle.define_topics(campaign, [{"key": key, "name": "drake"} for key in keys])
    asking.add_questions(campaign, [(name, key) for key in keys for name in names])
    golden = list(campaign.questions.order_by("pk")[::20])
    campaign.questions.filter(pk__in=[one.pk for one in golden]).update(
        state="gold", lane=2, seats_free=1
    )
    Gold.objects.bulk_create([Gold(question=one, answer="yes") for one in golden])
    question_counts.reconcile(campaign.pk)
    lifecycle.launch(campaign, owner)
    lifecycle.change(campaign, owner, take_along=True)
    return bench_labeling._person("looker", "along")["session"]


def later(hours: int) -> None:
    """So many hours have gone by for the server."""
    from datetime import timedelta

    from django.db.models import F

    from labeling.models import Assignment, TakenAlong

    gone = timedelta(hours=hours)
    TakenAlong.objects.update(taken_at=F("taken_at") - gone, until=F("until") - gone)
    Assignment.objects.update(
        created_at=F("created_at") - gone, leased_until=F("leased_until") - gone
    )


def count(answered: list[str]) -> dict[str, int]:
    from collections import Counter

    from labeling.models import Answer

    rows = list(Answer.objects.values_list("assignment__token", "value", "late"))
    seats = Counter(token for token, _, _ in rows)
    right = {token for token, value, _ in rows if value[0] == key_of(token)}
    return {
        "kept": len(seats),
        "lost": len(set(answered) - right) + TAKEN - len(seats),
        "doubled": sum(number - 1 for number in seats.values()),
        "late": sum(late for _, _, late in rows),
    }


ACTIONS = {"prepare": prepare, "later": later, "count": count}

if __name__ == "__main__":
    own_process.main(bench_along.__doc__, ACTIONS, lambda objects: bench_along.main(), 0)
