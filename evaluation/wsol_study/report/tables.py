"""Tables III and V to IX of Choe et al. 2022, in their layout."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from evaluation.wsol_study.report.content import (
    BACKBONE_TITLES,
    METHOD_TITLES,
    ROUNDS,
    Floats,
    StudyContent,
    backbone_title,
    bounds,
)
from evaluation.wsol_study.results import BOXES, CAM, FSL
from labeling.records import Record

# Table → DATASET or DATASET/METRIC → columns and rows as printed.
PAPER_VALUES = json.loads((Path(__file__).parent / "printed.json").read_text(encoding="utf-8"))
ATTRIBUTIONS = ("vb", "gb", "sg-vb", "sg-gb", "ig-vb", "ig-gb")
OVER_TRIALS = (
    f"95 % intervals: {ROUNDS:,} resamples of the trials, choosing by train-fullsup in each; none"
    " for models that were trained again after the search."
)
GC_NET = "GC-Net"
# Takes a method and a backbone.
Measure = Callable[[str, str], Floats]


@dataclass(kw_only=True)
class TableCell(Record):
    """A number in the paper's unit. low, high: its 95 % interval. printed: the paper's number.

    words: a text instead of a number.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    printed: float | None = None
    words: str | None = None


@dataclass(kw_only=True)
class PaperRow(Record):
    """A row. is_change: its numbers are relative to CAM."""

    name: str
    cells: list[TableCell]
    is_change: bool = False


@dataclass(kw_only=True)
class PaperTable(Record):
    """A table in the paper's layout. digits: decimals on pages."""

    key: str
    title: str
    note: str
    columns: list[str]
    rows: list[PaperRow] = field(default_factory=list)
    digits: int = 1

    @property
    def file(self) -> str:
        return f"table_{self.key.lower()}.csv"

    def content(self) -> list[list[object]]:
        """Return the CSV file: the paper's columns, then the intervals and the printed numbers."""
        parts = ("low", "high", "printed")
        extra = [f"{column} {part}" for part in parts for column in self.columns]
        lines: list[list[object]] = [["Methods", *self.columns, *extra]]
        for row in self.rows:
            values = [cell.words or cell.value for cell in row.cells]
            lines.append(
                [row.name, *values, *(getattr(c, part) for part in parts for c in row.cells)]
            )
        return lines

    @property
    def page_rows(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        """Return each row's name with value, interval and printed number as texts."""
        return [
            (row.name, [self._texts(cell, "+" if row.is_change else "") for cell in row.cells])
            for row in self.rows
        ]

    def _texts(self, cell: TableCell, sign: str) -> tuple[str, str, str]:
        form = f"{sign}.{self.digits}f"
        value = cell.words or ("–" if cell.value is None else f"{cell.value:{form}}")
        interval = "" if cell.low is None else f"{cell.low:{form}} to {cell.high:{form}}"
        return value, interval, "" if cell.printed is None else f"{cell.printed:{form}}"


def tables(content: StudyContent) -> list[PaperTable]:
    return [
        _table_iii(content),
        _table_v(content),
        _relative(content, "VI", "Re-evaluating WSOL, relative to CAM", "test"),
        _table_vii(content),
        _relative(content, "VIII", "WSOL with max normalization, relative to CAM", "test_max"),
        *([_table_ix(content)] if content.attribution else []),
    ]


def _table_iii(content: StudyContent) -> PaperTable:
    note = (
        "Kendall's τ-b between train-fullsup and test over the converged trials. 95 % intervals:"
        f" {ROUNDS:,} resamples of these trials."
    )
    made = _empty(content, "III", "In-distribution ranking preservation", note, digits=3)
    _add_methods(made, content, lambda method, backbone: content.tau(method, backbone) / 100)
    return made


def _table_v(content: StudyContent) -> PaperTable:
    top1 = partial(content.score, key="top1")
    is_boxes = content.study.settings.metric == BOXES
    boxes: dict[str, Measure] = {"Top-1 loc": top1, "MaxBoxAcc": content.max_box_acc}
    measures = boxes if is_boxes else {"mPxAP": content.score}
    note = (
        "Reported: from the methods' papers. Reproduced: this study and the paper's."
        f" {OVER_TRIALS} MaxBoxAcc, measured for final models only, has no interval."
    )
    made = _empty(content, "V", "Previously reported WSOL results", note)
    made.columns = [f"{name} {backbone_title(b)}" for name in measures for b in content.backbones]
    if _printed(made, content):
        for title in (*METHOD_TITLES.values(), GC_NET):
            _add(made, content, f"Reported {title}", None)
    for method, title in METHOD_TITLES.items():
        values = [f(method, b) for f in measures.values() for b in content.backbones]
        _add(made, content, f"Reproduced {title}", values, method)
    _add(made, content, f"Reproduced {GC_NET}", None)
    return made


def _relative(content: StudyContent, key: str, title: str, score: str) -> PaperTable:
    """Return Table VI or VIII."""
    metric = "MaxBoxAccV2" if content.study.settings.metric == BOXES else "mPxAP"
    note = f"{metric} in percent on test, chosen on train-fullsup by min-max. {OVER_TRIALS}"
    made = _empty(content, key, title, note)
    scores = {
        method: _with_mean(
            [content.score(method, backbone, score) for backbone in content.backbones]
        )
        for method in (*METHOD_TITLES, FSL)
    }
    for method, title in METHOD_TITLES.items():
        is_change = method != CAM
        values = [a - is_change * b for a, b in zip(scores[method], scores[CAM], strict=True)]
        _add(made, content, title, values, method, is_change=is_change)
    if key == "VI":
        _add(made, content, GC_NET, None)
    best = np.fmax.reduce([scores[method] for method in METHOD_TITLES])
    _add(made, content, "Best WSOL", list(best))
    _add(made, content, "FSL baseline", scores[FSL], FSL)
    center = [content.center_score(score)] * len(made.columns)
    _add(made, content, "Center baseline", center)
    return made


def _table_vii(content: StudyContent) -> PaperTable:
    note = f"Accuracy in percent on test of the models of Table VI. {OVER_TRIALS}"
    made = _empty(content, "VII", "Classification performance of WSOL methods", note)
    _add_methods(made, content, partial(content.score, key="accuracy"))
    _add(made, content, GC_NET, None)
    return made


def _table_ix(content: StudyContent) -> PaperTable:
    note = "The chosen CAM models on test. Intervals: not validated, one model per backbone."
    made = _empty(content, "IX", "WSOL evaluation for visual interpretability methods", note)
    on_test = {(a.method, a.backbone): a.value for a in content.attribution if a.part == "test"}
    for method in ATTRIBUTIONS:
        values = [np.array([on_test.get((method, b))], float) for b in content.backbones]
        _add(made, content, method.upper(), _with_mean(values))
    cam = [content.score(CAM, backbone)[:1] for backbone in content.backbones]
    _add(made, content, "CAM", _with_mean(cam))
    return made


def _empty(content: StudyContent, key: str, title: str, note: str, digits: int = 1) -> PaperTable:
    columns = [*map(backbone_title, content.backbones), "Mean"]
    return PaperTable(
        key=key, title=f"Table {key}: {title}", note=note, columns=columns, digits=digits
    )


def _add_methods(table: PaperTable, content: StudyContent, measure: Measure) -> None:
    for method, title in METHOD_TITLES.items():
        values = [measure(method, backbone) for backbone in content.backbones]
        _add(table, content, title, _with_mean(values), method)


def _with_mean(values: Sequence[Floats]) -> list[Floats]:
    return [*values, np.mean(values, axis=0)]


def _printed(table: PaperTable, content: StudyContent) -> Mapping[str, Mapping[str, float | None]]:
    """Return the paper's numbers by row and column; {} for another data set or metric.

    Means are left out unless the study has the paper's three backbones.
    """
    settings, by_data = content.study.settings, PAPER_VALUES[table.key]
    block = by_data.get(f"{settings.dataset}/{settings.metric}") or by_data.get(settings.dataset)
    if block is None:
        return {}
    columns = list(block["columns"])
    if set(content.backbones) != set(BACKBONE_TITLES):
        columns = [name for name in columns if name != "Mean"]
    return {name: dict(zip(columns, row, strict=False)) for name, row in block["rows"].items()}


def _add(
    table: PaperTable,
    content: StudyContent,
    name: str,
    values: Sequence[Floats] | None,
    method: str = "",
    is_change: bool = False,
) -> None:
    """Add a row of resampled fractions, one per column; with None, only the printed numbers."""
    printed = _printed(table, content).get(name, {})
    row = PaperRow(name=name, cells=[], is_change=is_change)
    for at, column in enumerate(table.columns):
        cell = TableCell(printed=printed.get(column))
        if values is None:
            cell.words = None if name.startswith("Reported") else "not built"
        elif np.isfinite(values[at][0]):
            cell.value = round(100 * float(values[at][0]), 4)
            cell.low, cell.high = (x and round(100 * x, 4) for x in bounds(values[at]))
        else:
            cell.words = content.missing(method)
        row.cells.append(cell)
    table.rows.append(row)
