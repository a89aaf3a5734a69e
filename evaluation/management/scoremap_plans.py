"""The options of `scoremaps`, and the plan that they make."""

import dataclasses
from pathlib import Path

from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.scoremaps import planning, reading
from evaluation.management.networks import MODEL, NetworkOptions
from evaluation.metrics.attribution.recipes import METHODS, READINGS, REDUCTIONS, Recipe
from evaluation.metrics.wsol.box_scores import LARGEST_SIZE
from labeling.bounded_numbers import real, whole
from labeling.files import BadInput, file_sha256
from labeling.json_text import canonical_sha256
from labeling.management.contract import UsageError
from labeling.management.options import option

CENTER = "center-gaussian"
# Choe et al. (TPAMI 2022), §5.5.
SMOOTH = 127.0
# The noise of all samples is held in memory: 600 MB for 1,000 of 224 × 224.
MAX_SAMPLES = 1000
# Option → prefixes or suffixes of the methods that take it.
METHOD_OPTIONS = {
    "grid": ("cam",),
    "channels": ("vanilla", "guided"),
    "samples": ("-smoothgrad", "-integrated"),
    "noise": ("-smoothgrad",),
    "seed": ("-smoothgrad",),
    "baseline": ("-integrated",),
    "times_input": ("-integrated",),
}
REQUIRED_OPTIONS = ("model", "classes", "images")
RECIPE = tuple(field.name for field in dataclasses.fields(Recipe))
NETWORK_OPTIONS = (
    *REQUIRED_OPTIONS,
    *METHOD_OPTIONS,
    "target",
    "predictions",
    "smooth",
    "smooth_as",
    "resize",
    "orientation",
    "weights",
    "random_weights",
    "size",
    "mean",
    "std",
)


_amount = real(lambda value: 0 <= value <= 10_000, "from 0 to 10000")


@dataclasses.dataclass(kw_only=True)
class ScoremapOptions(NetworkOptions):
    method: str = option("how a map is made", choices=(*METHODS, CENTER))
    metadata: Path = option(
        "image_ids.txt, class_labels.txt and, where there is one, image_sizes.txt", metavar="DIR"
    )
    out: Path | None = option("a map ID.npy for each image", metavar="DIR")
    images: Path | None = option("where the ids are paths", metavar="DIR")
    model: str | None = option(MODEL, metavar="SPEC")
    classes: str | None = option(  # type: ignore[assignment]
        "a class a line for each output, as class_labels.txt writes them; or how many outputs "
        "there are, where classes are their numbers from 0",
        metavar="FILE|N",
    )
    target: str | None = option(
        "whose map: of the class in class_labels.txt (default), or the network's choice",
        choices=("true", "predicted"),
    )
    predictions: Path | None = option(
        "also write id,class rows of what the network names, for score wsol", metavar="FILE"
    )
    batch: int = option("images, or copies of them, at once (32)", 32, type=whole(1))
    orientation: str | None = option(
        "images as a person sees them (default), or as they are stored",
        choices=reading.ORIENTATIONS,
    )
    samples: int | None = option(
        f"gradients averaged, 1 to {MAX_SAMPLES} (50)", type=whole(1, MAX_SAMPLES), metavar="N"
    )
    noise: float | None = option(
        "SmoothGrad: share of the image's range (0.15)", type=_amount, metavar="S"
    )
    seed: int | None = option("SmoothGrad: of the noise (0)", type=whole(0, 2**63 - 1), metavar="N")
    baseline: str | None = option(
        "integrated: begin with a black image (default), or with zeros after --mean and --std",
        choices=planning.BASELINES,
    )
    times_input: bool | None = option(
        "integrated: times the image less the baseline, which Choe et al. leave out", None
    )
    channels: str | None = option(
        "what three colours' gradients become (max-abs)", choices=REDUCTIONS
    )
    grid: int | None = option(
        "cam: N × N places by lowering the last strides, such as 14 or 28",
        type=whole(1),
        metavar="N",
    )
    smooth: float | None = option(
        f"a Gaussian over the map ({SMOOTH:g} on 224 pixels; without it none)",
        type=_amount,
        nargs="?",
        const=SMOOTH,
        metavar="WIDTH",
    )
    smooth_as: str | None = option(
        "the width is a standard deviation (default), or a window as OpenCV's", choices=READINGS
    )
    map_size: int = option(
        "maps of N × N pixels (224)", 224, type=whole(1, LARGEST_SIZE), metavar="N"
    )
    resize: str | None = option(
        "how maps get there (bilinear); none: not at all", choices=planning.RESIZES
    )

    def folder(self) -> Path:
        """Return --images; refuse_unfit has checked that it is given."""
        assert self.images is not None
        return self.images

    def refuse_unfit(self) -> None:
        """Raise UsageError for an option that the method lacks, or a missing one that it needs."""
        method = self.method
        # Not `in (None, False)`: a seed of 0 equals False.
        unfit = [
            name
            for name in NETWORK_OPTIONS
            if getattr(self, name) is not None and getattr(self, name) is not False
        ]
        if method == CENTER:
            if unfit:
                fault = f"does not go with {CENTER}: it looks at no image"
                raise UsageError(f"{_flag(unfit[0])} {fault}")
            for name in ("on", "work", "shard"):
                if getattr(self, name) is not None:
                    raise UsageError(f"--{name} does not go with {CENTER}: it is one map for all")
            return
        for name in REQUIRED_OPTIONS:
            if getattr(self, name) is None:
                raise UsageError(f"{method} needs {_flag(name)}")
        for name, methods in METHOD_OPTIONS.items():
            if name in unfit and not method.startswith(methods) and not method.endswith(methods):
                raise UsageError(f"{_flag(name)} does not go with {method}")
        if self.smooth_as and not self.smooth:
            raise UsageError("--smooth-as goes with --smooth")

    def plan(self, labels: dict[str, str]) -> planning.ScoremapPlan:
        """Return the opened and tested network with its settings. Raises BadInput."""
        assert self.model is not None
        assert self.classes is not None
        classes = planning.read_classes(self.classes)
        chosen = None
        if self.target != "predicted":
            chosen = planning.outputs_of(labels, classes, self.metadata / "class_labels.txt")
        recipe = {name: getattr(self, name) for name in RECIPE if getattr(self, name) is not None}
        classifier = self.opened(ListedModel(self.model, {}), classes)
        if str(classifier.source["model"]).lower().endswith(".onnx"):
            raise BadInput(
                f"{self.model} is an ONNX file, which gives no gradients and hides its maps",
                cure="give TorchScript, an exported program, or the module itself by import path",
            )
        return planning.ScoremapPlan(
            classifier,
            Recipe(**recipe),
            chosen,
            self.grid,
            self.baseline or "black",
            self.map_size,
            self.resize or "bilinear",
        )

    def settings(self, plan: planning.ScoremapPlan) -> dict[str, object]:
        """Return everything that the maps depend on, except the images."""
        recipe = plan.as_dict() | {"orientation": self.orientation or "upright"}
        stated: dict[str, object] = {
            "recipe": recipe,
            "model": dict(plan.classifier.source),
            "classes": canonical_sha256(plan.classifier.classes),
            "preparation": plan.classifier.preparation.as_dict(),
        }
        if plan.labels is not None:
            stated["class labels"] = file_sha256(self.metadata / "class_labels.txt")
        return stated


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
