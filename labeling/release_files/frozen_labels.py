"""What a frozen release says of every class of every image. Pure: lines in, lines out."""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from labeling.estimators.intervals import share_interval
from labeling.question_graph import planning
from labeling.question_graph.planning import Asked
from labeling.question_graph.replaying import EXPLICIT, NO, UNKNOWN, YES, Graph

Line = dict[str, Any]
WORDS = {True: YES, False: NO, None: UNKNOWN}


def explicit(answers: Iterable[Line], abstentions: Collection[str]) -> Iterator[Line]:
    """The labels of a campaign without a graph: what was settled, and nothing else.

    A naming answer says which class is in the image; "none of these" names no class.
    """
    for line in answers:
        if line.get("wnid") in (None, "none"):
            continue
        value = WORDS[line["contains"]] if "contains" in line else YES
        probability = line.get("probability")
        yield _label(line["image"], line["wnid"], value, EXPLICIT, probability) | _support(
            line, abstentions
        )


def of_objects(answers: Iterable[Line]) -> Iterator[Line]:
    """The labels of a campaign that draws objects: of each image the categories it was asked about.

    yes where one of the image's objects of that category was drawn, else unknown: that people
    could not draw an object says nothing against it. "boxes": of those that were drawn.
    """
    for image, lines in groupby(answers, itemgetter("image")):
        boxes: dict[str, list[Any]] = {}
        for line in lines:
            found = boxes.setdefault(line["wnid"], [])
            found += [line["box"]] if line["contains"] else []
        for wnid in sorted(boxes):
            value = YES if boxes[wnid] else UNKNOWN
            yield _label(image, wnid, value, EXPLICIT, None) | {"boxes": boxes[wnid]}


def by_graph(
    graph: Graph,
    mode: str,
    images: Iterable[Line],
    answers: Iterable[Line],
    given: Iterable[Line],
    abstentions: Collection[str],
) -> Iterator[Line]:
    """A line for every class of every image, in the order of the graph's leaves.

    images, answers and given: lines of a release, all by image in one order.
    """
    said, known = Groups(answers), Groups(given)
    for image in images:
        name = image["name"]
        lines = said.of(name)
        asked = [
            Asked(place, line["node"], "settled", WORDS[line["contains"]], line["order"])
            for place, line in enumerate(lines)
        ]
        sure = {line["node"]: line for line in lines}
        settled = planning.stand(
            graph, asked, mode, planning.agreed(_pairs(known.of(name)))
        ).settled
        for node in graph.leaves:
            key = graph.node(node).key
            value, origin = settled.get(node, (UNKNOWN, ""))
            line = sure.get(node, {}) if origin == EXPLICIT else {}
            yield _label(name, key, value, origin, line.get("probability")) | _support(
                line, abstentions
            )


def _pairs(lines: Iterable[Line]) -> list[tuple[str, str]]:
    return [(line["node"], line["value"]) for line in lines]


def _label(image: str, wnid: str, value: str, origin: str, probability: float | None) -> Line:
    return {
        "image": image,
        "wnid": wnid,
        "value": value,
        "origin": origin or EXPLICIT,
        "decided": bool(origin),
        "probability": probability,
    }


def _support(line: Line, abstentions: Collection[str]) -> Line:
    """{"votes": people who could answer, "interval": of the share that the probability is, or None}
    of a settled line; nothing of others."""
    if line.get("probability") is None or "votes" not in line:
        return {}
    able = {word: count for word, count in line["votes"].items() if word not in abstentions}
    votes = sum(able.values())
    said = ("yes" if line["contains"] else "no") if "contains" in line else line["wnid"]
    interval = share_interval(able.get(said, 0), votes, line["probability"])
    return {"votes": votes, "interval": interval and list(interval)}


class Groups:
    """Lines by image, read in step with the images; those of images that never come are left."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.groups = groupby(lines, itemgetter("image"))
        self.name: str | None = None
        self.lines: list[Line] = []

    def of(self, name: str) -> list[Line]:
        # Code points order as UTF-8 bytes do, by which the files are sorted.
        while self.name is None or self.name < name:
            group = next(self.groups, None)
            if group is None:
                return []
            self.name, self.lines = group[0], list(group[1])
        return self.lines if self.name == name else []
