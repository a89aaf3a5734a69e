"""Labels of every class of every image in a frozen release. Pure: lines in, lines out."""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NotRequired, TypedDict

from labeling.boxes.chain import ABSENT
from labeling.estimators.intervals import share_interval
from labeling.formats.label import Geometry
from labeling.question_graph import planning
from labeling.question_graph.inferring import Inference
from labeling.question_graph.planning import AskedNode
from labeling.question_graph.replaying import (
    EXPLICIT,
    GIVEN,
    INFERRED,
    INHERITED,
    NO,
    UNKNOWN,
    YES,
    Label,
    QuestionGraph,
)
from labeling.release_files.frozen_boxes import LabelOfBoxes
from labeling.release_files.groups import Groups

WORDS = {True: YES, False: NO, None: UNKNOWN}
# The label by "judged"; other words give none.
JUDGEMENTS = {"valid": YES, "minor": NO, "major": NO}


class AnswerLine(TypedDict):
    """A line of answers.jsonl.

    contains: None for a dropped question; absent where wnid is the answer. judged: instead of
    contains where people judge how right the class is; None for a dropped question. votes: by
    answer. tags: how many votes for the settled answer have each tag. ranked: the listed classes,
    the settled one first. likely: the most probable answer where none was decided. node, order,
    probability: with a graph. error: where it was measured. box: of objects. queries: that found
    the image of a candidate.
    """

    image: str
    wnid: str | None
    contains: NotRequired[bool | None]
    judged: NotRequired[str | None]
    votes: NotRequired[dict[str, int]]
    tags: NotRequired[dict[str, int]]
    ranked: NotRequired[list[str]]
    likely: NotRequired[str]
    probability: NotRequired[float | None]
    error: NotRequired[float]
    node: NotRequired[str]
    order: NotRequired[int]
    box: NotRequired[list[float]]
    boxed: NotRequired[bool]
    queries: NotRequired[list[str]]


class GivenLine(TypedDict):
    """A line of given.jsonl."""

    image: str
    node: str
    wnid: str | None
    value: str
    source: str
    geometry: Geometry | None


class LabelLine(TypedDict):
    """The label of a class of an image; see Frozen.labels.

    probability: the model's own. error: the probability that the label is wrong, where gold or
    audits measured it. votes: number without abstentions. interval: of a probability that is a
    share of votes. flags: of each box. coverage: a state of its pair. queries: that found
    the image.
    """

    image: str
    wnid: str
    value: str
    origin: str
    decided: bool
    probability: float | None
    error: NotRequired[float]
    boxes: NotRequired[list[list[float]]]
    flags: NotRequired[list[list[str]]]
    coverage: NotRequired[str]
    votes: NotRequired[int]
    interval: NotRequired[list[float] | None]
    likely: NotRequired[str]
    queries: NotRequired[list[str]]


def explicit(answers: Iterable[AnswerLine], abstentions: Collection[str]) -> Iterator[LabelLine]:
    """Yield the settled labels of a campaign without a graph.

    A naming answer says which class is in the image, or most probably is; "none of these" names no
    class.
    """
    for line in answers:
        wnid = line["wnid"]
        if wnid is None and "contains" not in line and "judged" not in line:
            wnid = line.get("likely")
        if wnid is not None and wnid != "none":
            yield _label(line["image"], wnid, _value(line), EXPLICIT, line, abstentions)


def _value(line: AnswerLine) -> str:
    """Return the value of a settled answer for its class."""
    if "likely" in line:
        return UNKNOWN
    if "judged" in line:
        return JUDGEMENTS.get(line["judged"] or "", UNKNOWN)
    return WORDS[line["contains"]] if "contains" in line else YES


def of_objects(answers: Iterable[AnswerLine]) -> Iterator[LabelLine]:
    """Yield the labels of a campaign that draws objects: each asked category of each image.

    The value is yes if an object of the category was drawn, else unknown, since a failed drawing
    is not evidence of absence. "boxes": of the drawn objects whose row had a box.
    """
    for image, lines in groupby(answers, itemgetter("image")):
        boxes: dict[str, list[list[float]]] = {}
        drawn: set[str] = set()
        for line in lines:
            wnid = str(line["wnid"])
            boxes.setdefault(wnid, [])
            if line["contains"]:
                drawn.add(wnid)
                boxes[wnid] += [line["box"]] if line.get("boxed", True) else []
        for wnid in sorted(boxes):
            value = YES if wnid in drawn else UNKNOWN
            yield {**_label(image, wnid, value, EXPLICIT), "boxes": boxes[wnid]}


def of_boxes(rows: Iterable[LabelOfBoxes]) -> Iterator[LabelLine]:
    """Yield the labels of a campaign that draws boxes.

    The value is yes where an instance has a box, no where there is none, else unknown.
    """
    for row in rows:
        value = YES if row["boxes"] else NO if row["state"] == ABSENT else UNKNOWN
        label = _label(row["image"], row["wnid"], value, EXPLICIT if value != UNKNOWN else "")
        more = {"boxes": row["boxes"], "flags": row["flags"], "coverage": row["state"]}
        yield {**label, **more}  # type: ignore[typeddict-item]


def by_graph(
    graph: QuestionGraph,
    mode: str,
    images: Iterable[str],
    answers: Iterable[AnswerLine],
    known_lines: Iterable[GivenLine],
    abstentions: Collection[str],
    inference: Inference | None = None,
) -> Iterator[LabelLine]:
    """Yield a line for every class of every image, in the order of the graph's leaves.

    images: names. answers, known_lines: lines of a release, in the same order of images.
    inference: needed where any node may have been asked.
    """
    answer_groups, known = Groups(answers), Groups(known_lines)
    for name in images:
        lines = answer_groups.of(name)
        questions = [
            AskedNode(index, line["node"], "settled", WORDS[line["contains"]], line["order"])
            for index, line in enumerate(lines)
        ]
        sure = {line["node"]: line for line in lines}
        before = planning.agreed((line["node"], line["value"]) for line in known.of(name))
        settled = planning.replay_current(graph, questions, mode, before).settled
        likely: dict[str, float | None] = {}
        if inference is not None:
            settled, likely = _inferred(inference, questions, before, settled)
        for node in graph.leaves:
            key = graph.node(node).key
            value, origin = settled.get(node, (UNKNOWN, ""))
            answer = sure.get(node) if origin == EXPLICIT else None
            line = _label(name, key, value, origin, answer, abstentions)
            if node in likely:
                line["probability"] = likely[node]
                line["decided"] = value != UNKNOWN
            yield line


def _inferred(
    inference: Inference,
    questions: list[AskedNode],
    before: dict[str, str],
    settled: dict[str, Label],
) -> tuple[dict[str, Label], dict[str, float | None]]:
    """Return (labels, probabilities of the inferred ones) of the leaves.

    Answers and given labels of a class are its label. An inferred "no" is inherited if an answer
    on a parent closed the class; the rest is inferred or "unknown".
    """
    values = planning.known_values(inference.graph, questions, before)
    labels: dict[str, Label] = {}
    likely: dict[str, float | None] = {}
    for node, (value, probability) in inference.labels(values).items():
        if node in values:
            is_given = before.get(node, UNKNOWN) != UNKNOWN
            labels[node] = (values[node], GIVEN if is_given else EXPLICIT)
        elif value == NO and settled.get(node) == (NO, INHERITED):
            labels[node] = (NO, INHERITED)
        else:
            labels[node], likely[node] = (value, INFERRED), probability
    return labels, likely


def _label(
    image: str,
    wnid: str,
    value: str,
    origin: str,
    line: AnswerLine | None = None,
    abstentions: Collection[str] = (),
) -> LabelLine:
    """Return a label. line: the settled answer behind it, if any."""
    probability = line.get("probability") if line else None
    label_line: LabelLine = {
        "image": image,
        "wnid": wnid,
        "value": value,
        "origin": origin or EXPLICIT,
        "decided": bool(origin),
        "probability": probability,
    }
    if line is not None and "error" in line:
        label_line["error"] = line["error"]
    if line is not None and "likely" in line:
        label_line |= {"decided": False, "likely": line["likely"]}
    if line is not None and "queries" in line:
        label_line["queries"] = line["queries"]
    if line is not None and probability is not None and "votes" in line:
        able = {word: count for word, count in line["votes"].items() if word not in abstentions}
        label_line["votes"] = votes = sum(able.values())
        interval = share_interval(able.get(_counted_word(line), 0), votes, probability)
        label_line["interval"] = None if interval is None else list(interval)
    return label_line


def _counted_word(line: AnswerLine) -> str:
    """Return the word under which votes for a settled or the most probable answer are counted."""
    if "likely" in line:
        return line["likely"]
    if "contains" in line:
        return "yes" if line["contains"] else "no"
    return (line["judged"] if "judged" in line else line["wnid"]) or ""
