"""The demo's trained networks: EfficientNet-Lite 0, 1 and 2 in a MAD, a CDS and a WSOL benchmark.

annotator/demo/networks.npz has their predictions on the demo's photographs and frames;
deploy/demo_networks.py makes it again. The answers to the competition are simulated.
"""

import io
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.files.base import File
from numpy.typing import NDArray
from PIL import Image

from annotator.demo import cds, competition, graph, labeled, pools
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import WSOL
from evaluation.benchmarks.kinds.mad import failure_tags, gallery, true_labels
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark
from evaluation.pools import making, uploading
from evaluation.readers.sequences import SequenceLine
from evaluation.readers.shipped import classes_file
from labeling.campaigns import lifecycle
from labeling.exchange import label_files
from labeling.files import BadInput, text_lines
from labeling.models import Campaign, User

SOURCE = Path(__file__).resolve().parent / "networks.npz"
DATASET = "demo-crops"
DESCRIPTION = "The photographs of “demo” and crops of them."
COMPETITION, REVEALED, MAPS = "demo-networks", "demo-cds-networks", "demo-maps-networks"
TITLES = {
    COMPETITION: "MAD demo: EfficientNet-Lite 0, 1, 2 (real predictions, simulated answers)",
    REVEALED: "CDS demo: EfficientNet-Lite 0, 1, 2 (real predictions)",
    MAPS: "WSOL demo: EfficientNet-Lite 0, 1, 2 (real score maps)",
}
NETWORKS = ("lite0", "lite1", "lite2")
# Photographs that get three crops of 60 % of each side, at CORNERS: shares of width and height.
CROPPED = (
    "astronaut.png",
    "camera.png",
    "chelsea.png",
    "china.jpg",
    "clock_motion.png",
    "coffee.png",
    "flower.jpg",
    "motorcycle_right.png",
    "rocket.jpg",
)
CORNERS = {"left": (0.0, 0.2), "right": (0.4, 0.2), "bottom": (0.2, 0.4)}
SIDE = 0.6
# Classes seen on the photographs, and why the networks failed on them, as the authors see it.
SEEN_CLASSES_FILES = ("networks_seen.csv", "seen.csv")
FAILURES = "networks_failures.csv"
# At the default of 0.8 the networks agree on every image.
TOP_K, MIN_CONFIDENCE = 30, 0.1


def load(users: dict[str, User], owner: User, instructions: str) -> None:
    """Create the three benchmarks on the first call. Safe to call again.

    users: by name, all of competition.ANSWERED. The drawn objects (cds.py) exist.
    """
    with np.load(SOURCE) as arrays:
        if not competition.is_loaded(COMPETITION):
            _compete(users, owner, instructions, arrays)
        campaign = Campaign.objects.get(name=cds.NAME)
        revealed = cds.opened(campaign, owner, REVEALED, TITLES[REVEALED])
        if not revealed.submissions.exists():
            _classify(revealed, owner, arrays)
        labeled.load_benchmark(
            owner, MAPS, TITLES[MAPS], WSOL, lambda _, folder: _score_maps(folder, arrays)
        )


def photographs() -> Iterator[pools.Photograph]:
    """Yield each photograph and each crop."""
    for row in graph.read_rows("images.csv"):
        path = pools.photograph(row["package"], row["image"])
        yield row["image"], row, path.read_bytes()
        if row["image"] in CROPPED:
            cropped = row | {"source": f"a crop of {row['source']}"}
            with Image.open(path) as image:
                for name, corner in CORNERS.items():
                    yield f"{path.stem}-{name}.png", cropped, _crop(image, *corner)


def _crop(image: Image.Image, left: float, top: float) -> bytes:
    width, height = image.size
    x0, x1 = (round(width * share) for share in (left, left + SIDE))
    y0, y1 = (round(height * share) for share in (top, top + SIDE))
    out = io.BytesIO()
    image.crop((x0, y0, x1, y1)).save(out, "PNG")
    return out.getvalue()


def frames_of(lines: list[SequenceLine]) -> list[str]:
    """Return every frame of the sequences once, in order."""
    return list(dict.fromkeys(frame for line in lines for frame in line.frames))


def ilsvrc_classes() -> list[str]:
    """Return the wnids of the networks' 1,000 outputs."""
    return list(text_lines(classes_file("ilsvrc")))


def _compete(
    users: dict[str, User], owner: User, instructions: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    dataset = pools.make_dataset(owner, DATASET, DESCRIPTION, photographs())
    predictions = pools.write(
        settings.DATA_DIR / "demo" / "networks" / "predictions",
        arrays["images"].tolist(),
        ilsvrc_classes(),
        {name: (arrays[f"{name}.labels"], arrays[f"{name}.confidences"]) for name in NETWORKS},
    )
    with tempfile.TemporaryDirectory() as scratch:
        packed = Path(scratch, "networks.zip")
        making.pack(packed, {path.name: path for path in predictions.iterdir()})
        with packed.open("rb") as file:
            uploading.from_zip(dataset, owner, File(file, packed.name))
    for seen in SEEN_CLASSES_FILES:
        with (SOURCE.parent / seen).open("rb") as file:
            label_files.import_upload(dataset, owner, File(file, seen))
    lines = pools.select(
        predictions, classifiers=NETWORKS, top_k=TOP_K, reserve=TOP_K, min_confidence=MIN_CONFIDENCE
    )
    failures = graph.read_rows(FAILURES)
    true_classes = [row["wnid"] for row in failures if row["wnid"]]
    benchmark = competition.load(
        users,
        owner,
        dataset,
        lines,
        instructions,
        name=COMPETITION,
        title=TITLES[COMPETITION],
        seen=SEEN_CLASSES_FILES[0],
        vocabulary=[*(key for line in lines[1:] for key in line["labels"]), *true_classes],
    )
    _explain(benchmark, owner, [users[name] for name in competition.ANSWERED], failures)


def _explain(
    benchmark: Benchmark, owner: User, members: list[User], failures: list[dict[str, str]]
) -> None:
    """Tag the failures, name the true labels of case III, and score again."""
    wrong = failure_tags.wrong_images(benchmark)
    for row in failures:
        names = [name for (_, name), images in wrong.items() if row["image"] in images]
        failure_tags.set_tags(
            benchmark, owner, row["image"], {name: [row["tag"]] for name in names}
        )
    lines = [entry.selection for entry in gallery.case_three(benchmark)]
    naming = true_labels.ask_true_label(benchmark, owner, lines, nouns.load())
    truths = {row["image"]: row["wnid"] for row in failures}

    def value(image: str, _topic: str) -> object:
        return {"key": truths[image]} if truths.get(image) else "none"

    while sum(competition.answer(member, naming, value) for member in members):
        pass
    lifecycle.change_state(naming, owner, "close")
    competition.score(benchmark, owner)


def _classify(benchmark: Benchmark, owner: User, arrays: Mapping[str, NDArray[Any]]) -> None:
    frames = frames_of(benchmarks.lines_of(benchmark))
    if frames != arrays["frames"].tolist():
        raise BadInput(
            "the drawn objects have other frames than annotator/demo/networks.npz",
            cure="make that file again with deploy/demo_networks.py",
        )
    classes = ilsvrc_classes()
    rows = (
        (frame, name, classes[label])
        for name in NETWORKS
        for frame, label in zip(frames, arrays[f"{name}.frames"].tolist(), strict=True)
    )
    folder = settings.DATA_DIR / "demo" / "networks" / "revealed"
    benchmarks.add_predictions(benchmark, owner, cds.write_predictions(folder, rows))
    runs.request(benchmark, owner)


def _score_maps(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Path]]:
    """Write a folder of maps for each network, and yield its name and folder."""
    for name in NETWORKS:
        for key in arrays:
            network, _, image = key.partition(".map.")
            if network == name and image:
                path = folder / name / f"{image}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, arrays[key])
        yield name, folder / name
