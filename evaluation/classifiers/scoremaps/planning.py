"""What score maps are to be made, by which network, and of which class. No Django, no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.classifiers.opening import Classifier
from evaluation.metrics.attribution.recipes import Recipe
from labeling.files import BadInput, require_file, text_lines

MOST_CLASSES = 1_000_000
BASELINES = ("black", "zero")
RESIZES = ("bilinear", "bicubic", "none")


@dataclass(frozen=True)
class Plan:
    """What maps are to be made, by which network.

    labels: of each image the index of its class, or None for the one that the network names. grid:
    how many places a side CAM's map shall have, by lowering strides; None: the network's own.
    baseline: of integrated gradients, a black image or zeros as the network takes them. side: that
    of the maps as written, brought there by `resize`; "none" leaves them as they are.
    """

    classifier: Classifier
    recipe: Recipe
    labels: Mapping[str, int] | None
    grid: int | None = None
    baseline: str = "black"
    side: int = 224
    resize: str = "bilinear"

    def as_dict(self) -> dict[str, object]:
        """For results: what was done, and nothing that was not."""
        method = self.recipe.method
        fields = self.recipe.as_dict() | {"target": "predicted" if self.labels is None else "true"}
        fields |= {"grid": self.grid} if method == "cam" else {}
        fields |= {"baseline": self.baseline} if method.endswith("-integrated") else {}
        fields |= {} if self.resize == "none" else {"map_size": self.side}
        return fields | {"resize": self.resize}


def images_at_once(plan: Plan, batch: int) -> int:
    """Return the number of images given to the network at once; fewer where many gradients make
    a map.
    """
    return max(batch // plan.recipe.averages, 1)


def read_classes(source: str) -> list[str]:
    """Return the classes in the order of the outputs: those of a file, or the numbers from 0 to N −
    1.

    Raises BadInput for a class that comes twice: which output is meant would be anybody's guess.
    """
    if source.isdecimal() and not Path(source).exists():
        if not 1 <= int(source) <= MOST_CLASSES:
            raise BadInput(f"{source} classes, expected 1 to {MOST_CLASSES:,}", cure="count them")
        return list(map(str, range(int(source))))
    path = Path(source)
    require_file(path, "list a class a line for each output, or give how many there are")
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
    """Return the output for each image's class. file: where the labels are from.

    Raises BadInput for a class that is none of the network's.
    """
    at = {name: index for index, name in enumerate(classes)}
    for name, label in labels.items():
        if label not in at:
            raise BadInput(
                f"{name} is of the class {label!r}, none of the {len(classes):,} in --classes",
                file=file,
                cure="write classes there as they are here, or give --target predicted",
            )
    return {name: at[label] for name, label in labels.items()}
