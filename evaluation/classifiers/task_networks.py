"""Networks in tasks: identified by their content, opened once per process. No Django.

A process that runs several tasks keeps the network of the first one open.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evaluation import devices
from evaluation.classifiers import opening
from evaluation.classifiers.opening import Classifier
from labeling.files import BadInput
from labeling.json_text import canonical_sha256

# Their versions may change a network's outputs, like torch's, which every task states.
LIBRARIES = ("torchvision", "timm", "onnxruntime")


@dataclass(frozen=True)
class Networks:
    """The networks of a command's tasks.

    arguments: their identity as JSON, part of a task's key; locations: from where each machine
    opens them. gpus: how many a task needs.
    """

    arguments: Sequence[Mapping[str, Any]]
    locations: Mapping[str, Any]
    gpus: int

    @classmethod
    def of(
        cls,
        specs: Sequence[str],
        classifiers: Sequence[Classifier],
        weights: Path | None,
        random_weights: bool,
        preparing: Sequence[Mapping[str, Any]],
    ) -> "Networks":
        """Return the networks of specs that opening.load opened with these options.

        preparing: of each network.
        """
        device = classifiers[0].device
        locations = {
            "specs": [opening.absolute(spec) for spec in specs],
            "names": [classifier.name for classifier in classifiers],
            "classes": [list(classifier.classes) for classifier in classifiers],
            "device": device,
            "weights": None if weights is None else str(weights.absolute()),
            "random_weights": random_weights,
            "preparing": [dict(each) for each in preparing],
        }
        return cls(
            [_identity(classifier) for classifier in classifiers],
            locations,
            0 if device == devices.CPU else 1,
        )


def opened(
    arguments: Sequence[Mapping[str, Any]], locations: Mapping[str, Any]
) -> Sequence[Classifier]:
    """Return the classifiers on this machine. Raises BadInput if one differs from its identity."""
    return _opened(json.dumps(arguments), json.dumps(locations))


@lru_cache(1)
def _opened(arguments: str, locations: str) -> Sequence[Classifier]:
    how = json.loads(locations)
    classifiers = []
    columns = (how[key] for key in ("specs", "names", "classes", "preparing"))
    for identity, spec, name, classes, preparing in zip(
        json.loads(arguments), *columns, strict=True
    ):
        classifier = opening.load(
            spec,
            classes,
            device=how["device"],
            name=name,
            weights=None if how["weights"] is None else Path(how["weights"]),
            random_weights=how["random_weights"],
            preparing={
                key: tuple(value) if isinstance(value, list) else value
                for key, value in preparing.items()
            },
        )
        if json.loads(json.dumps(_identity(classifier))) != identity:
            raise BadInput(
                f"the network {name} is another here than where the command began",
                file=spec,
                cure="let every machine see the same file and have the same libraries",
            )
        classifiers.append(classifier)
    return classifiers


def _identity(classifier: Classifier) -> Mapping[str, Any]:
    """Return everything that a classifier's outputs depend on."""
    return {
        "name": classifier.name,
        "classes": canonical_sha256(classifier.classes),
        "source": dict(classifier.source),
        "preparation": asdict(classifier.preparation),
        "device": classifier.device.partition(":")[0],
        "libraries": _versions(classifier),
    }


def _versions(classifier: Classifier) -> dict[str, str]:
    model = classifier.source["model"].lower()
    used = [name for name in LIBRARIES if model.startswith(f"{name}:")]
    if model.endswith(".onnx"):
        used.append("onnxruntime")
    versions = {}
    for name in used:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            # Installed under another name, such as onnxruntime-gpu.
            continue
    return versions
