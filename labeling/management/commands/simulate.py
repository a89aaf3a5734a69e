"""Simulates the cost and error of a question graph or a policy."""

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from labeling.boxes.rules import BoxRules
from labeling.files import BadInput, read_yaml
from labeling.kinds import policies
from labeling.management.contract import ContractCommand, Result, UsageError, refusals, verb
from labeling.management.options import argument, option
from labeling.plurals import count_of
from labeling.question_graph import scenes
from labeling.question_graph.graph import GraphError, QuestionGraph, build, read, shipped
from labeling.question_graph.ordering import ORDERS
from labeling.question_graph.replaying import MODES
from labeling.simulation import (
    box_crowd,
    simulating,
    simulating_boxes,
    simulating_correlated,
    simulating_queries,
)
from labeling.simulation.crowd import PRESETS, Crowd, clean_crowd

Made = TypeVar("Made")
ILSVRC = "ilsvrc"


@dataclass(kw_only=True)
class QueryOptions:
    graph: str = option(f"JSON or YAML, or {ILSVRC!r}", metavar="FILE")
    present: float = option("classes on an image, on average", 2.8)
    error: float | None = option(
        f"share of answers that are wrong (0; {scenes.ERROR} with --correlated)"
    )
    order: str = option(f"order of the questions ({ORDERS[0]})", ORDERS[0], choices=ORDERS)
    mode: str = option(f"questions that a no closes ({MODES[0]})", MODES[0], choices=MODES)
    correlated: str | None = option(
        "with --order learned: correlated classes, generated or from a CSV of image,wnid; any node "
        "may be asked, until no question is worth its price",
        metavar="|".join((*simulating_correlated.GENERATORS, "FILE")),
    )
    images: int | None = option(
        f"images to draw if there is no exact result ({simulating_queries.IMAGES}; "
        f"{simulating_correlated.IMAGES} with --correlated, besides those learned from)"
    )
    seed: int = option("seed of the random numbers (0)", 0)


@dataclass(kw_only=True)
class SimulatedCampaignOptions:
    policy: Path = argument("rules to simulate", metavar="POLICY.yaml")
    crowd: Path | None = option(
        "the crowd in YAML, or the name of one fitted to real answers",
        metavar=f"CROWD.yaml|{'|'.join(PRESETS)}",
    )
    seed: int = option("seed of the random numbers (0)", 0)


@dataclass(kw_only=True)
class SimulatedBoxOptions:
    images: int = option("images of one class each", 1_000)
    crowd: Path | None = option("the crowd and its images in YAML", metavar="CROWD.yaml")
    policy: Path | None = option("rules to simulate", metavar="POLICY.yaml")
    seed: int = option("seed of the random numbers (0)", 0)


class Command(ContractCommand):
    help = "Simulate a question graph or a policy without a database."

    @verb("simulate quality and time of boxes by draw, check and cover")
    def boxes(self, options: SimulatedBoxOptions) -> Result:
        images, crowd, policy, seed = options.images, options.crowd, options.policy, options.seed
        if images < 1:
            raise UsageError(f"--images is {images}; give 1 or more")
        _check_seed(seed)
        people = _checked(crowd, box_crowd.clean) if crowd else box_crowd.BoxCrowd()
        rules = _checked(policy, box_crowd.clean_rules) if policy else BoxRules()
        with refusals(crowd):
            return simulating_boxes.simulate(people, rules, images, seed)

    @verb("simulate error, answers and cost of a policy")
    def campaign(self, options: SimulatedCampaignOptions) -> Result:
        _check_seed(options.seed)
        people = PRESETS.get(str(options.crowd)) or (
            _checked(options.crowd, clean_crowd) if options.crowd else Crowd()
        )
        # Crowds of the second edition use the old target, so that their results stay the same.
        old = people.accuracy is not None
        defaults = policies.OLD_TARGET if old else {}
        rules = _checked(options.policy, lambda content: policies.clean_new(defaults | content))
        return simulating.simulate(rules, people, options.seed)

    @verb("simulate questions and wrong labels per image of a question graph")
    def queries(self, options: QueryOptions) -> Result:
        graph, correlated = _graph(options.graph), options.correlated
        error, images = options.error, options.images
        if error is None:
            error = scenes.ERROR if correlated else 0.0
        if images is None:
            images = (simulating_correlated if correlated else simulating_queries).IMAGES
        _check(graph, options.present, error, images, options.seed)
        setting = simulating_queries.Setting(
            options.present, error, options.mode, options.order, images, options.seed
        )
        if correlated:
            present, first = _correlated(graph, correlated, setting)
            result: Result = {
                **simulating_correlated.simulate(graph, setting, present, first),
                "correlated": correlated,
            }
        else:
            result = simulating_queries.simulate(graph, setting)
        questions_by_node = result.pop("asked")
        return result | {
            "mode": options.mode,
            "order": options.order,
            "present": options.present,
            "error": error,
            "depths": _depths(graph, questions_by_node),
        }


def _checked(path: Path, clean: Callable[[dict[str, Any]], Made]) -> Made:
    """Return the cleaned content of a YAML file. Raises BadInput that names the file."""
    with refusals(path):
        return clean(read_yaml(path))


def _graph(name: str) -> QuestionGraph:
    """Return the graph in a file, or the shipped one of ILSVRC."""
    if name == ILSVRC and not os.path.exists(name):
        return shipped(ILSVRC)
    try:
        return build(read(name))
    except GraphError as error:
        raise BadInput(error.message, file=name) from None


def _correlated(
    graph: QuestionGraph, name: str, setting: simulating_queries.Setting
) -> tuple[NDArray[np.bool_], int]:
    """Return the classes of images, and how many of the images are for learning."""
    if setting.order != "learned":
        raise UsageError("--correlated requires --order learned")
    first = simulating_correlated.LEARNED_ON
    if name not in simulating_correlated.GENERATORS:
        present = simulating_correlated.read_labels(graph, Path(name))
        return present, min(first, len(present) // 2)
    _, size, anywhere = simulating_correlated.GENERATORS[name]
    if len(graph.leaves) < size:
        raise UsageError(f"{name} needs a graph of {size} classes or more")
    if size and not anywhere <= setting.present <= anywhere + size:
        raise UsageError(
            f"--present is {setting.present:g}; expected {anywhere:g} to {anywhere + size:g} for "
            f"{name}"
        )
    count = first + setting.images
    present = simulating_correlated.generate(graph, name, setting.present, count, setting.seed)
    return present, first


def _check(graph: QuestionGraph, present: float, error: float, images: int, seed: int) -> None:
    leaves = len(graph.leaves)
    if not 0 <= present <= leaves:
        raise UsageError(
            f"--present is {present:g}; the graph has {count_of(leaves, 'class', 'classes')}, "
            f"give 0 to {leaves}"
        )
    if not 0 <= error < 1:
        raise UsageError(f"--error is {error:g}; give a share from 0 to below 1, such as 0.05")
    if images < 2:
        raise UsageError(f"--images is {images}; give 2 or more")
    _check_seed(seed)


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise UsageError(f"--seed is {seed}; give 0 or more")


def _depths(graph: QuestionGraph, questions_by_node: NDArray[np.float64]) -> list[dict[str, float]]:
    """Return the numbers of nodes and of questions of an image, by depth below the roots."""
    nodes: dict[int, int] = defaultdict(int)
    questions: dict[int, float] = defaultdict(float)
    for node, share in zip(graph.nodes, questions_by_node.tolist(), strict=True):
        nodes[node.depth] += 1
        questions[node.depth] += share
    return [{"depth": d, "nodes": nodes[d], "asked": questions[d]} for d in sorted(nodes)]
