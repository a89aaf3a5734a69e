"""Tables of the page of a release, from one report or two."""

from dataclasses import dataclass, field
from typing import NamedTuple

from evaluation.scoring.release_report import ReleaseReport, ReportedClass
from labeling.models import Job, Release
from labeling.reports.boxes_page import CountShare

MAX_PEOPLE = 20
MEASURES = {
    "scale": "Scale: share of the image that an instance takes",
    "cpl": "Chance performance of localization",
    "clutter": "Clutter",
    "instances_per_image": "Instances per image with the class",
    "neighbours_per_instance": "Neighbours per instance",
}


@dataclass
class ReportCard:
    """A release with its report, or the job that makes it. people: the most active annotators."""

    release: Release
    report: ReleaseReport | None = None
    job: Job | None = None
    people: list[CountShare] = field(default_factory=list)

    @classmethod
    def of(cls, release: Release, made: ReleaseReport | Job) -> "ReportCard":
        if isinstance(made, Job):
            return cls(release, job=made)
        total = sum(person.votes for person in made.people)
        people = [CountShare(row.name, row.votes, total) for row in made.people[:MAX_PEOPLE]]
        return cls(release, made, people=people)


class MeasureTable(NamedTuple):
    """The numbers of a release's classes by a measure. n: classes that have the measure."""

    title: str
    label: str
    mean: float
    n: int
    rows: list[CountShare]


class Figure16(NamedTuple):
    """The distribution of a measure over the classes of each release (ILSVRC paper, Fig. 16)."""

    key: str
    words: str
    tables: list[MeasureTable]


class ClassRow(NamedTuple):
    """A class in every release; None where a release lacks it."""

    wnid: str
    name: str
    cells: list[ReportedClass | None]


def figures(reports: list[ReleaseReport]) -> list[Figure16]:
    """Return the measures that any of the releases has."""
    made = []
    for key, words in MEASURES.items():
        tables = [_table(report, key) for report in reports if report.means[key].n]
        if tables:
            made.append(Figure16(key, words, tables))
    return made


def _table(report: ReleaseReport, key: str) -> MeasureTable:
    measure = report.means[key]
    ends = zip(measure.edges, measure.edges[1:], measure.counts, strict=False)
    title = f"{report.title}, release {report.number}"
    return MeasureTable(
        title=title,
        label=f"{MEASURES[key]}: {title}",
        mean=measure.mean or 0.0,
        n=measure.n,
        rows=[CountShare(f"{low:g} – {high:g}", count, measure.n) for low, high, count in ends],
    )


def class_rows(reports: list[ReleaseReport]) -> list[ClassRow]:
    """Return the classes of all releases by key."""
    tables = [{row.wnid: row for row in report.classes} for report in reports]
    keys = sorted({key for table in tables for key in table})
    rows = []
    for key in keys:
        cells = [table.get(key) for table in tables]
        rows.append(ClassRow(key, next(row.name for row in cells if row), cells))
    return rows
