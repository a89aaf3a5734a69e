"""The folder of a study: its files and the records in them. Pure; no torch.

| file | holds |
|---|---|
| `study.json` | Study: the settings and what the numbers depend on; written before training |
| `trials.jsonl` | a Trial a line: every trial of the search, fsl included |
| `choice.json` | Choice: written and hashed before test is read |
| `finals.jsonl` | a Trial a line: the reported model of each method and backbone |
| `test_passes.jsonl` | a TestPass a line, in order |
| `center.json` | Center: the scores of the center-Gaussian baseline |
| `few_shot.jsonl` | a FewShot a line (Fig 19) |
| `attribution.jsonl` | an Attribution a line (Table IX, Fig 20), if configured |
| `curves/METHOD-BACKBONE-TRIAL.csv` | epoch,loss,fullsup |
| `by_threshold/METHOD-BACKBONE.csv` | of the final models on test, see below |
| `samples/METHOD-BACKBONE/ID.npy` | maps of some test images, not normalized |
| `samples/images/ID.png`, `samples/boxes.csv` | these images, and `id,x0,y0,x1,y1` of their truth |
| `maps/METHOD-BACKBONE/ID.npy` | maps of all test images, if configured |

A final model is the chosen trial itself if the search trains on all of train-weaksup. After a
search on a proxy, and for fsl, whose search trains on a part of train-fullsup, the final model is
trained again with the chosen hyperparameters. Before the pass over test, the test columns of trials
are null, and only study.json, trials.jsonl, choice.json and curves exist. Scores are fractions of 1
of the metric in the settings.

by_threshold has, for boxes, `threshold,box_acc,box_acc_v2_0.3,box_acc_v2_0.5,box_acc_v2_0.7` and,
for masks, `threshold,px_prec,px_rec,px_acc`; then `inside,outside`, the numbers of map pixels in
and outside the objects. The last row counts scores of exactly 1; its accuracies are empty.
"""

import csv
import io
import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from labeling.files import BadInput, atomic_write
from labeling.json_text import parse_json
from labeling.records import Record, to_json

BOXES, MASKS = "maxboxaccv2", "mpxap"
SCRATCH = "from scratch"
FSL, CAM = "fsl", "cam"

# Outputs that begin() removes if the study changes; test_passes.jsonl is kept.
STUDY_OUTPUTS = (
    "trials.jsonl",
    "choice.json",
    "finals.jsonl",
    "center.json",
    "few_shot.jsonl",
    "attribution.jsonl",
    "curves",
    "by_threshold",
    "samples",
    "maps",
    "tables",
    "figures",
    "report.html",
)
CURE = "restore the file, or run the study into another folder"

Item = TypeVar("Item", bound=Record)


@dataclass(kw_only=True)
class StudySettings(Record):
    """The configuration that a study's numbers depend on.

    dataset: cub, imagenet, openimages or another name. proxy: the share of each class that the
    search trains on. weights: backbone → SCRATCH or "NAME SHA-256". targets: what fsl trains on,
    boxes or masks. few_shot: the numbers of images per class in Fig 19. images: part → their count.
    """

    name: str
    dataset: str
    convention: str
    metric: str
    protocol: str
    backbones: list[str]
    methods: list[str]
    trials: int
    epochs: int
    batch: int
    seed: int
    proxy: float
    weights: dict[str, str]
    targets: str
    few_shot: list[int]
    few_shot_samples: int
    classes: list[str]
    images: dict[str, int]


@dataclass(kw_only=True)
class Study(Record):
    """The content of study.json."""

    settings: StudySettings
    device: str
    deterministic: bool
    threads: int
    versions: dict[str, str]


@dataclass(kw_only=True)
class Trial(Record):
    """A trained model and its scores; null means not measured.

    converged: the loss of the last epoch is finite. analysis: the trial was not chosen, so its test
    score is for analysis only. fullsup_max, test_max: scores under max normalization. accuracy:
    classification accuracy on test. area: mean share of map pixels ≥ 0.2 on test, under min-max.
    threshold_…: the best τ (boxes: at IoU 0.5). boxes_at: fixed τ, as text → box accuracy on test
    at IoU 0.5. epoch: of the checkpoint, from 1. loss: of the last epoch. top1: top-1 localization
    on test, for boxes and methods that classify. fullsup is measured on the images that the search
    chooses by; for fsl, a fifth of train-fullsup.
    """

    method: str
    backbone: str
    trial: int
    hyperparameters: dict[str, float | int]
    converged: bool
    fullsup: float | None
    test: float | None
    fullsup_max: float | None
    test_max: float | None
    accuracy: float | None
    area: float | None
    threshold_fullsup: float | None
    threshold_test: float | None
    boxes_at: dict[str, float] | None
    loss: float | None
    epoch: int
    epochs: int
    chosen: bool
    analysis: bool
    top1: float | None = None

    @property
    def pair(self) -> str:
        """Return METHOD-BACKBONE, as in file names and the choice."""
        return f"{self.method}-{self.backbone}"


@dataclass(kw_only=True)
class Choice(Record):
    """The content of choice.json. chosen: pair → trial; pairs without converged trials are absent.

    sha256: of the canonical JSON of [trials as in trials.jsonl before test, chosen].
    """

    chosen: dict[str, int]
    sha256: str


@dataclass(kw_only=True)
class TestPass(Record):
    """A pass over test. number: from 1; choice: the sha256 of the choice that preceded it.

    truth: the SHA-256 of the truth of test. A resumed run continues the same pass.
    """

    __test__ = False

    number: int
    choice: str
    truth: str
    images: int


@dataclass(kw_only=True)
class Center(Record):
    """The scores of the center-Gaussian baseline."""

    fullsup: float | None
    test: float | None
    fullsup_max: float | None
    test_max: float | None


@dataclass(kw_only=True)
class FewShot(Record):
    """A point of Fig 19.

    per_class: images of each class in train-fullsup that fsl trains on, or that CAM's trial is
    chosen by. trial: the search trial whose hyperparameters were used.
    """

    method: str
    backbone: str
    per_class: int
    sample: int
    trial: int | None
    fullsup: float | None
    test: float | None


@dataclass(kw_only=True)
class Attribution(Record):
    """A cell of Table IX (part test) or Fig 20 (part train-fullsup). method: vb, gb, sg-vb, …"""

    method: str
    backbone: str
    part: str
    samples: int
    smooth: float
    value: float | None


@dataclass(frozen=True)
class StudyFolder:
    """Reads and writes the files of a study."""

    path: Path

    def study(self) -> Study:
        """Return study.json. Raises BadInput for a folder that has none."""
        return self._one(Study, "study.json", "give the --out folder of wsol-study run")

    def trials(self) -> list[Trial]:
        return list(self._lines(Trial, "trials.jsonl"))

    def finals(self) -> list[Trial]:
        return list(self._lines(Trial, "finals.jsonl"))

    def choice(self) -> Choice | None:
        return self._one(Choice, "choice.json", "") if self._has("choice.json") else None

    def center(self) -> Center | None:
        return self._one(Center, "center.json", "") if self._has("center.json") else None

    def passes(self) -> list[TestPass]:
        return list(self._lines(TestPass, "test_passes.jsonl"))

    def few_shot(self) -> list[FewShot]:
        return list(self._lines(FewShot, "few_shot.jsonl"))

    def attribution(self) -> list[Attribution]:
        return list(self._lines(Attribution, "attribution.jsonl"))

    def columns(self, name: str) -> dict[str, list[float]]:
        """Return the columns of a CSV file such as `curves/cam-vgg16-0.csv`; {} if it is missing.

        Empty cells are NaN.
        """
        if not self._has(name):
            return {}
        with open(self.path / name, encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        cells = [[float(cell or "nan") for cell in row] for row in rows]
        return {key: [row[at] for row in cells] for at, key in enumerate(head)}

    def begin(self, study: Study) -> None:
        """Write study.json, after removing the files of another study, except its passes."""
        if self._has("study.json"):
            before = (self.path / "study.json").read_bytes()
            if before != f"{to_json(study)}\n".encode():
                for path in (self.path / name for name in STUDY_OUTPUTS):
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.write("study.json", study)

    def write(self, name: str, content: Record | Iterable[Record]) -> None:
        """Write one record as JSON, or records as JSON Lines."""
        lines = [content] if isinstance(content, Record) else content
        self.write_text(name, "".join(to_json(line) + "\n" for line in lines))

    def write_columns(self, name: str, columns: Mapping[str, Sequence[float | None]]) -> None:
        """Write a CSV file; NaN and None become empty cells, and shorter columns are padded."""
        rows = itertools.zip_longest(*columns.values())
        texts = [["" if x is None or x != x else f"{x:.10g}" for x in row] for row in rows]
        self.write_rows(name, [list(columns), *texts])

    def write_rows(self, name: str, rows: Iterable[Iterable[object]]) -> None:
        """Write a CSV file."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self.write_text(name, text.getvalue())

    def write_text(self, name: str, text: str) -> None:
        """Write a text file; create its folder."""
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.path / name) as file:
            file.write(text)

    def _has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def _one(self, kind: type[Item], name: str, cure: str) -> Item:
        if not self._has(name):
            raise BadInput("the file is missing", self.path / name, None, cure)
        if (first := next(self._lines(kind, name), None)) is None:
            raise BadInput("is empty", self.path / name, None, CURE)
        return first

    def _lines(self, kind: type[Item], name: str) -> Iterator[Item]:
        """Yield the records of a file, none if it is missing. Raises BadInput with the line."""
        if not self._has(name):
            return
        with open(self.path / name, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield kind.from_json(parse_json(line))
                except (ValueError, TypeError, AttributeError):
                    fault = f"is not a {kind.__name__} record"
                    raise BadInput(fault, self.path / name, number, CURE) from None
