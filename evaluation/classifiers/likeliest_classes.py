"""The likeliest classes of frames, computed on the network's device. No Django.

Only the rows come to the host. Torch is imported inside functions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evaluation.devices import BatchSize
from labeling.files import BadInput

if TYPE_CHECKING:
    from torch import Tensor

    from evaluation.classifiers.opening import Classifier

TOP = 5
Row = list[str]


def batch_rows(
    frames: Iterable[tuple[str, "Tensor"]], classifier: "Classifier", batch: int
) -> Iterator[list[Row]]:
    """Yield the rows of every batch of frames, as in `classify`."""
    import torch

    at_once = BatchSize(batch, "frame")
    names: list[str] = []
    images: list[Tensor] = []

    def classified() -> list[Row]:
        outputs = at_once.run(len(images), lambda part: classifier(torch.stack(images[part])))
        rows = _rows(names, classifier, torch.cat(list(outputs)))
        names.clear()
        images.clear()
        return rows

    for name, frame in frames:
        names.append(name)
        images.append(classifier.prepare(frame))
        if len(names) == batch:
            yield classified()
    if names:
        yield classified()


def likeliest(
    probabilities: "Tensor", count: int, classifier: str, names: Sequence[str]
) -> tuple["Tensor", "Tensor"]:
    """Return (N, K) indices of the `count` likeliest classes per image, and their probabilities.

    K is less than count if there are fewer classes. Ties go to the first class. names: of the
    images. Raises BadInput for a probability that is NaN.
    """
    wrong = (~probabilities.isfinite().all(1)).nonzero()
    if len(wrong):
        raise BadInput(
            f"{classifier} gives no number for {names[int(wrong[0])]}",
            cure="look at its weights and at --mean and --std",
        )
    # A stable sort keeps equal ones in the order of the classes, which topk does not guarantee.
    values, at = probabilities.sort(dim=1, descending=True, stable=True)
    return at[:, :count], values[:, :count]


def _rows(names: list[str], classifier: "Classifier", probabilities: "Tensor") -> list[Row]:
    at, values = likeliest(
        probabilities, TOP, classifier.name, [f"the frame {name}" for name in names]
    )
    rows = []
    for name, chances, indices in zip(names, values.tolist(), at.tolist(), strict=True):
        row = [name, classifier.name]
        for chance, index in zip(chances, indices, strict=True):
            row += [classifier.classes[index], f"{chance:.6g}"]
        rows.append(row)
    return rows
