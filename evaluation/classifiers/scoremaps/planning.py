"""Which score maps to make, by which network, of which class. No Django, no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.classifiers.opening import Classifier
from evaluation.metrics.attribution.recipes import Recipe
from labeling.files import BadInput, require_file, text_lines

MAX_CLASSES = 1_000_000
BASELINES = ("black", "zero")
RESIZES = ("bilinear", "bicubic", "none")


@dataclass(frozen=True)
class ScoremapPlan:
    """Which maps to make, by which network.

    labels: the class index of each image, or None for the predicted class. grid: the size of CAM's
    map, reached by lowering strides; None: the network's own. baseline: of integrated gradients, a
    black image or zeros as the network's input. side: of the written maps, resized by `resize`;
    "none" leaves them unchanged.
    """

    classifier: Classifier
    recipe: Recipe
    labels: Mapping[str, int] | None
    grid: int | None = None
    baseline: str = "black"
    side: int = 224
    resize: str = "bilinear"

    def as_dict(self) -> dict[str, object]:
        """Return the fields that apply, for results."""
        method = self.recipe.method
        fields = self.recipe.as_dict() | {"target": "predicted" if self.labels is None else "true"}
        fields |= {"grid": self.grid} if method == "cam" else {}
        fields |= {"baseline": self.baseline} if method.endswith("-integrated") else {}
        fields |= {} if self.resize == "none" else {"map_size": self.side}
        return fields | {"resize": self.resize}


def images_at_once(plan: ScoremapPlan, batch: int) -> int:
    """Return the number of images per call of the network; fewer if a map needs many gradients."""
    return max(batch // plan.recipe.averages, 1)


def read_classes(source: str) -> list[str]:
    """Return the classes in output order: those of a file, or the numbers 0 … N − 1.

    Raises BadInput for a duplicate class: its output would be ambiguous.
    """
    if source.isdecimal() and not Path(source).exists():
        if not 1 <= int(source) <= MAX_CLASSES:
            raise BadInput(f"{source} classes, expected 1 to {MAX_CLASSES:,}", cure="count them")
        return list(map(str, range(int(source))))
    path = Path(source)
    require_file(
        path, "write the class of each output on its own line, or give the number of classes"
    )
    first: dict[str, int] = {}
    for line, text in enumerate(text_lines(path), 1):
        name = text.strip()
        if not name:
            raise BadInput("the line is empty", path, line, "list a class a line, without gaps")
        if name in first:
            raise BadInput(f"{name} is already in line {first[name]}", path, line, "keep one")
        first[name] = line
    if not first:
        raise BadInput("there are no classes", path, None, "list a class a line")
    return list(first)


def outputs_of(labels: Mapping[str, str], classes: Sequence[str], file: Path) -> dict[str, int]:
    """Return the output of each image's class. file: source of the labels, for messages.

    Raises BadInput for a class that the network lacks.
    """
    at = {name: index for index, name in enumerate(classes)}
    for name, label in labels.items():
        if label not in at:
            raise BadInput(
                f"{name} is of the class {label!r}, none of the {len(classes):,} in --classes",
                file=file,
                cure="use the names of --classes in this file, or give --target predicted",
            )
    return {name: at[label] for name, label in labels.items()}
