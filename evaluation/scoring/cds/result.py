"""Options and result of `score cds`, as printed and as stored by runs. Pure."""

from dataclasses import dataclass, field

from evaluation.metrics.bands import Sure
from evaluation.metrics.cds.captchas import CaptchaRow
from evaluation.metrics.cds.hardness import HardnessRow
from evaluation.metrics.cds.histograms import PresenceRow, RatioRow
from evaluation.metrics.cds.tables import (
    ContentSchemeRow,
    CorrelationRow,
    ErrorRow,
    PartSchemeRow,
    WinnersRow,
)
from evaluation.scoring.comparing import IntervalEstimate
from evaluation.scoring.scored_release import ScoredRelease
from labeling.records import Record


@dataclass(frozen=True)
class CdsScoringOptions:
    """bootstrap: rounds, 0 for no intervals. people: classifiers that are people: included in the
    tables by scheme, but not in comparisons of machines or images. captchas: most candidates to
    list.
    """

    measure: str = "wup"
    convention: str = "clean"
    by: str = "wnid"
    bootstrap: int = 1000
    seed: int = 0
    level: float = 0.95
    people: tuple[str, ...] = ()
    captchas: int = 1000


@dataclass(kw_only=True)
class CdsTables(Record):
    """Every table by its name in docs/explanation/cds.md. averaging: of the printed tables."""

    averaging: str = "text"
    error: list[ErrorRow] = field(default_factory=list)
    by_content_scheme: list[ContentSchemeRow] = field(default_factory=list)
    by_part_scheme: list[PartSchemeRow] = field(default_factory=list)
    best_and_worst: list[WinnersRow] = field(default_factory=list)
    error_correlation: list[CorrelationRow] = field(default_factory=list)
    cl_ratio: list[RatioRow] = field(default_factory=list)
    hardness: list[HardnessRow] = field(default_factory=list)
    part_presence: list[PresenceRow] = field(default_factory=list)
    captchas: list[CaptchaRow] = field(default_factory=list)


@dataclass(kw_only=True)
class ClassifierScores(Record):
    """The scores of a sequence, or of one classifier's answers to it. b_cds: with a mapping."""

    cds: float
    b_cds: float | None = None


@dataclass(kw_only=True)
class SequenceScores(Record):
    """A line of a run's sequences.jsonl: a sequence and a classifier that saw it."""

    image: str
    object: str
    category: str
    part_scheme: str
    content_scheme: str
    classifier: str
    cds: float
    b_cds: float | None = None


@dataclass(kw_only=True)
class FrameAnswer(Record):
    """A classifier's answer to a frame.

    wnid, name: None if it named nothing. right: None without a mapping.
    """

    wnid: str | None
    name: str | None
    similarity: float
    right: bool | None


@dataclass(kw_only=True)
class AnsweredSequence(Record):
    """A line of a run's answers.jsonl: a sequence as in docs/explanation/cds.md, with every
    classifier's answers to its frames and the scores. Classifiers that were not asked are left out.
    """

    image: str
    category: str
    part_scheme: str
    content_scheme: str
    frames: list[str]
    object: str | None = None
    present: int | None = None
    parts: int | None = None
    answers: dict[str, list[FrameAnswer]]
    scores: dict[str, ClassifierScores]


@dataclass(kw_only=True)
class CdsBootstrap(Record):
    rounds: int
    seed: int
    level: float


@dataclass(kw_only=True)
class NewestScore(Record):
    """A classifier's mean CDS by the newest truth. objects: whose frames it was asked about."""

    name: str
    objects: int
    cds: float | None
    b_cds: float | None = None


@dataclass(kw_only=True)
class NewestColumn(Record):
    """Every classifier on the same objects. objects: their number."""

    objects: int
    classifiers: list[NewestScore]


@dataclass(kw_only=True)
class SequencesEffect(Record):
    """The effect of the newest truth on a classifier's results.

    version: the truth that it was checked against. opening, objects: how many objects of the
    opening and of the newest truth it was asked about. ignored: frames that its version has and the
    newest truth lacks. ranks: by the opening truth, by the newest on the opening's objects, by the
    newest on all; None for people, and unless it was asked about all of them. difference: of the
    mean CDS, newest − opening, on the objects of both. outcomes_changed: how many of these have
    another CDS. changed_objects: the first twenty of them, as IMAGE/OBJECT.
    """

    name: str
    version: int
    opening: int
    objects: int
    ignored: int
    ranks: list[int | None]
    difference: IntervalEstimate
    outcomes_changed: int = 0
    changed_objects: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class NewestSequences(Record):
    """The scores by the newest truth. opening_objects: those of the opening that it still has.
    waiting: categories without a part order or a class.
    """

    version: int
    sha256: str
    release: ScoredRelease
    objects: int
    opening_objects: NewestColumn
    all_objects: NewestColumn
    effects: list[SequencesEffect]
    waiting: list[str]


@dataclass(kw_only=True)
class CdsResult(Record):
    """How CDS was computed, and every table.

    sequences: their number, or the scores of each. few_objects: categories with too few objects for
    useful intervals. category_names: names of categories that are wnids. instances: wnids of
    instances among the classes. sure: the confirmed order of the machines. device, versions: see
    devices.with_device. release, code_version: of a benchmark's run. truth_versions: the opening
    and the newest; everything but `newest` is by the opening.
    """

    classifiers: list[str]
    similarity: str
    convention: str
    by: str
    bootstrap: CdsBootstrap
    mapping: dict[str, list[str]] | None
    images: int
    objects: int
    sequences: int | list[SequenceScores]
    few_objects: list[str] = field(default_factory=list)
    notes: list[str]
    category_names: dict[str, str] = field(default_factory=dict)
    instances: list[str] | None = None
    sure: Sure | None = None
    tables: CdsTables
    release: ScoredRelease | None = None
    code_version: str | None = None
    device: str | None = None
    versions: dict[str, str] | None = None
    truth_versions: list[int] | None = None
    newest: NewestSequences | None = None
