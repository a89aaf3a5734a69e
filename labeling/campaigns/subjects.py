"""Images that show a part of something else, such as frames of one object: a person sees only one.

The whole-image item of such an image is derived from the item that it shows. All questions about
it, in any campaign and gold included, have the subject −(id of that item); other questions are
their own subject. A person who has ever held a seat on a negative subject gets no other question
about it: the seat is unique and stays (candidates.py, claiming.py). docs/explanation/cds.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db.models import QuerySet
from django.utils import timezone

from labeling.db.sql import batches
from labeling.models import Campaign, Item, Question, Seat, User

BATCH = 500
State = Seat.State


def derive(item_of_image: Mapping[int, int]) -> None:
    """Record which item each image (by id) shows a part of. Idempotent."""
    Item.objects.bulk_create(
        [Item(image_id=image, derived_from_id=item_id) for image, item_id in item_of_image.items()],
        ignore_conflicts=True,
    )
    for item in Item.objects.filter(
        image__in=list(item_of_image), region__isnull=True, derived_from__isnull=True
    ):
        item.derived_from_id = item_of_image[item.image_id]
        item.save(update_fields=["derived_from"])


def of_item(item: int) -> int | None:
    """Return the subject of a question about this item; None if the question is its own subject."""
    return of_items([item]).get(item)


def of_items(items: Iterable[int]) -> dict[int, int]:
    """Return the subjects of questions about these items; questions that are their own subject are
    left out.
    """
    rows = Item.objects.filter(pk__in=list(items), region__isnull=True, derived_from__isnull=False)
    return {pk: -item_id for pk, item_id in rows.values_list("pk", "derived_from") if item_id}


def bar_earlier_annotators(item_ids: Iterable[int]) -> None:
    """Bar everybody who held a seat on the image of one of these items from images that show its
    parts: they may have seen all of it.

    Calling it again adds new people. The number of queries grows with the batches.
    """
    ordered_ids = sorted(set(item_ids))
    for part in batches(ordered_ids, BATCH):
        by_image: dict[int, list[int]] = defaultdict(list)
        datasets = set()
        rows = Item.objects.filter(pk__in=part).select_related("image")
        for item in rows:
            by_image[item.image_id].append(item.pk)
            datasets.add(item.image.dataset_id)
        _bar(by_image, Campaign.objects.filter(dataset__in=datasets))


def _bar(by_image: Mapping[int, list[int]], campaigns: QuerySet[Campaign]) -> None:
    items = Item.objects.filter(image__in=list(by_image)).values_list("pk", flat=True)
    # Filter by campaign and item together, for which there is an index.
    questions = Question.objects.filter(
        campaign__in=list(campaigns.values_list("pk", flat=True)), item__in=list(items)
    )
    seen = (
        Seat.objects.filter(question__in=list(questions.values_list("pk", flat=True)))
        .order_by("pk")
        .values_list("annotator", "question", "question__item__image")
    )
    now = timezone.now()
    seats = [
        Seat(
            annotator_id=annotator,
            subject=-item_id,
            question_id=question,
            state=State.CLOSED,
            leased_until=now,
        )
        for annotator, question, image in seen
        for item_id in by_image[image]
    ]
    Seat.objects.bulk_create(seats, batch_size=BATCH, ignore_conflicts=True)


def may_see(user: User, question: Question) -> bool:
    """Return whether this person may see the question outside of labeling, such as in an audit, and
    reserve its subject.

    It is False for a negative subject on which they hold a seat of another question.
    """
    if question.subject is None or question.subject >= 0:
        return True
    Seat.objects.bulk_create(
        [
            Seat(
                annotator=user,
                subject=question.subject,
                question=question,
                state=State.CLOSED,
                leased_until=timezone.now(),
            )
        ],
        ignore_conflicts=True,
    )
    return Seat.objects.filter(annotator=user, subject=question.subject, question=question).exists()
