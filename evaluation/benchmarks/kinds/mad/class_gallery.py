"""Every chosen image that some classifier predicts as one class, beside reference images.

As Figures 4 and 6 of Wang et al. (ICLR 2020), for a class of the reader's choice.
"""

from dataclasses import dataclass, field

from django.db.models import Q

from evaluation.benchmarks.kinds.mad import alike, competitions, gallery
from evaluation.models import Benchmark, Selection
from labeling.models import Image, Question, Settlement

MAX_REFERENCES = 60


@dataclass
class ClassImage:
    """An image with the classifiers that predict the class. right: None until settled."""

    name: str
    image_id: int | None
    right: bool | None = None
    classifiers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ClassGallery:
    """groups: (heading, images) of predicted images. references: others that show the class."""

    groups: list[tuple[str, list[ClassImage]]]
    references: list[ClassImage]
    reference_count: int


def classes(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Return (class, name) of every class that is predicted for a chosen image, by name."""
    chosen = benchmark.selections.filter(state=Selection.State.CHOSEN).order_by()
    keys = {key for pair in chosen.values_list("first_label", "second_label") for key in pair}
    names = competitions.class_names(benchmark.campaign)
    return sorted(((key, names.get(key, key)) for key in keys), key=lambda row: row[::-1])


def of_class(benchmark: Benchmark, key: str) -> ClassGallery:
    """Return the images of a class, over all pairs."""
    rows = benchmark.selections.filter(
        Q(first_label=key) | Q(second_label=key), state=Selection.State.CHOSEN
    )
    images: dict[str, ClassImage] = {}
    for entry in gallery.entries_of(benchmark, rows.select_related("first", "second")):
        name = entry.selection.image
        row = images.setdefault(name, ClassImage(name, entry.image_id))
        for prediction in entry.predictions:
            if prediction.wnid == key:
                row.right = prediction.right
                if prediction.classifier not in row.classifiers:
                    row.classifiers.append(prediction.classifier)
    groups = [
        (heading, [row for row in images.values() if row.right is verdict])
        for heading, verdict in (("Wrong", False), ("Right", True), ("Not settled", None))
    ]
    names = _with_class(benchmark, key) - set(images)
    stored = Image.objects.filter(
        dataset=benchmark.campaign.dataset, name__in=sorted(names)[:MAX_REFERENCES]
    )
    references = [ClassImage(row.name, row.pk) for row in stored.order_by("name")]
    return ClassGallery([group for group in groups if group[1]], references, len(names))


def _with_class(benchmark: Benchmark, key: str) -> set[str]:
    """Return the images with this class: by an answer, as the true label, or in the dataset."""
    settled = Settlement.objects.filter(question__state=Question.State.SETTLED)
    answered = settled.filter(
        question__campaign=benchmark.campaign, question__topic=key, value="yes"
    )
    true = settled.filter(question__campaign=benchmark.naming_id, value__key=key)
    images = (answered | true).values_list("question__item__image__name", flat=True)
    labels = alike.given_labels(benchmark).filter(key=key, value="yes")
    return {*images, *labels.values_list("item__image__name", flat=True)}
