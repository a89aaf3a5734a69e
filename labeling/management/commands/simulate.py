"""What a question graph or a policy costs, and how wrong it will be, before people are asked."""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.core.management.base import CommandParser
from numpy.typing import NDArray

from labeling.boxes.rules import BoxRules
from labeling.errors import Refusal
from labeling.files import BadInput, read_yaml
from labeling.kinds import policies
from labeling.management.contract import ContractCommand, Result, UsageError, table
from labeling.plurals import count_of
from labeling.question_graph import scenes
from labeling.question_graph.graph import Graph, GraphError, build, read, shipped
from labeling.question_graph.ordering import ORDERS
from labeling.question_graph.replaying import MODES
from labeling.simulation import (
    box_crowd,
    simulating,
    simulating_boxes,
    simulating_correlated,
    simulating_queries,
)
from labeling.simulation.crowd import Crowd, clean_crowd

Made = TypeVar("Made")
ILSVRC = "ilsvrc"


class Command(ContractCommand):
    help = "Try a question graph or a policy on made-up images and people, without a database."

    def add_arguments(self, parser: CommandParser) -> None:
        self._add_queries(parser)
        self._add_campaign(parser)
        self._add_boxes(parser)

    def _add_queries(self, parser: CommandParser) -> None:
        add = self.verb(
            parser,
            "queries",
            self.queries,
            self.show_queries,
            help="questions and wrong labels of an image, for a question graph",
        )
        add.add_argument(
            "--graph", required=True, metavar="FILE", help=f"JSON or YAML, or {ILSVRC!r}"
        )
        add.add_argument(
            "--present", type=float, default=2.8, help="classes on an image, on average"
        )
        add.add_argument(
            "--error",
            type=float,
            help=f"share of answers that are wrong (0; {scenes.ERROR} with --correlated)",
        )
        add.add_argument(
            "--order",
            choices=ORDERS,
            default=ORDERS[0],
            help=f"which question comes next ({ORDERS[0]})",
        )
        add.add_argument(
            "--mode", choices=MODES, default=MODES[0], help=f"what a no closes ({MODES[0]})"
        )
        add.add_argument(
            "--correlated",
            metavar="|".join((*simulating_correlated.GENERATORS, "FILE")),
            help="with --order learned: classes that go together, made up or from a CSV of image,"
            "wnid; any node may be asked, and asking stops where it pays no more",
        )
        add.add_argument("--seconds", type=float, default=4.0, help="an answer takes")
        add.add_argument("--cost-per-hour", type=float, help="of an annotator's time")
        add.add_argument(
            "--images",
            type=int,
            help=f"drawn where there is no exact figure ({simulating_queries.IMAGES}; "
            f"{simulating_correlated.IMAGES} with --correlated, after those learned from)",
        )
        add.add_argument("--seed", type=int, default=0, help="of the random numbers (0)")

    def _add_campaign(self, parser: CommandParser) -> None:
        add = self.verb(
            parser,
            "campaign",
            self.campaign,
            self.show_campaign,
            help="error, answers and cost of a policy, with a made-up crowd",
        )
        add.add_argument("policy", metavar="POLICY.yaml", type=Path, help="the rules to try")
        add.add_argument("--crowd", metavar="CROWD.yaml", type=Path, help="who answers, and what")
        add.add_argument("--seed", type=int, default=0, help="of the random numbers (0)")

    def _add_boxes(self, parser: CommandParser) -> None:
        add = self.verb(
            parser,
            "boxes",
            self.boxes,
            self.show_boxes,
            help="quality and time of boxes by draw, check and cover, with a made-up crowd",
        )
        add.add_argument("--images", type=int, default=1_000, help="images of one class each")
        add.add_argument("--crowd", metavar="CROWD.yaml", type=Path, help="who draws, and what")
        add.add_argument("--policy", metavar="POLICY.yaml", type=Path, help="the rules to try")
        add.add_argument("--seed", type=int, default=0, help="of the random numbers (0)")

    def boxes(
        self, images: int, crowd: Path | None, policy: Path | None, seed: int, **_: Any
    ) -> Result:
        if images < 1:
            raise UsageError(f"--images is {images}; give 1 or more")
        _check_seed(seed)
        people = _checked(crowd, box_crowd.clean) if crowd else box_crowd.BoxCrowd()
        rules = _checked(policy, box_crowd.clean_rules) if policy else BoxRules()
        try:
            return simulating_boxes.simulate(people, rules, images, seed)
        except Refusal as refusal:
            raise BadInput(refusal.message, file=crowd) from None

    def show_boxes(self, result: Result) -> str:
        aided = result["with_proposals"]
        rows = [
            (words, *(_share(arm[key]) for arm in (result, aided)))
            for key, words in (
                ("covered", "images with a box around every instance"),
                ("good_at_0.5", "boxes with an IoU of 0.5 or more"),
                ("good_at_0.7", "… of 0.7 or more"),
                ("mean_iou", "mean IoU"),
                ("planted_found", "boxes taken away that were missed"),
            )
        ]
        rows.append(("mean IoU without checks", f"{result['mean_iou_unchecked']:.4f}", ""))
        for key, words in (
            ("fast", "seconds a box, by medians"),
            ("slow", "… where a check is slow"),
            ("median", "… of the median box, in all"),
        ):
            rows.append((words, *(f"{arm['seconds_per_box'][key]:.1f}" for arm in (result, aided))))
        accepted = aided["accepted"]
        n = count_of(result["boxes"], "box", "boxes")
        text = f"{count_of(result['pairs'], 'image')}, {n}\n\n"
        text += table(rows, ("", "drawn", "with proposals"))
        if accepted["boxes"]:
            text += (
                f"\n\n{count_of(accepted['boxes'], 'accepted proposal')}: IoU of 0.5 or more "
                f"{accepted['good_at_0.5']:.4f}, of 0.7 or more {accepted['good_at_0.7']:.4f}, "
                f"mean {accepted['mean_iou']:.4f}"
            )
        ratio = result["verify_or_draw"]
        return f"{text}\n\ndrawing and checking, of the better of always and never: {ratio:.3f}"

    def campaign(self, policy: Path, crowd: Path | None, seed: int, **_: Any) -> Result:
        _check_seed(seed)
        rules = _checked(policy, policies.clean_new)
        people = _checked(crowd, clean_crowd) if crowd else Crowd()
        return simulating.simulate(rules, people, seed)

    def show_campaign(self, result: Result) -> str:
        stated, audit = result["stated_error"], "nothing was audited"
        if stated["interval"]:
            low, high = stated["interval"]
            audit = f"{stated['value']:.4f}, 95 % interval {low:.4f} to {high:.4f}"
        rows: list[tuple[str, Any]] = [
            ("error", f"{result['error']:.4f}"),
            ("error as the audit states it", audit),
            ("answers a question", f"{result['answers_per_question']:.3f}"),
            ("cost", f"{result['cost']:.2f} {result['currency']}"),
            *((f"  {name}", count) for name, count in result["answers"].items()),
        ]
        for key in ("blocked", "stopped"):
            rows += [(f"{key} {how}", count) for how, count in result[key].items()]
        return f"{count_of(result['questions'], 'question')}, {result['method']}\n\n{table(rows)}"

    def queries(
        self,
        graph: str,
        present: float,
        error: float | None,
        order: str,
        mode: str,
        correlated: str | None,
        seconds: float,
        cost_per_hour: float | None,
        images: int | None,
        seed: int,
        **_: Any,
    ) -> Result:
        checked = _graph(graph)
        if error is None:
            error = scenes.ERROR if correlated else 0.0
        if images is None:
            images = (simulating_correlated if correlated else simulating_queries).IMAGES
        _check(checked, present, error, seconds, cost_per_hour, images, seed)
        setting = simulating_queries.Setting(present, error, mode, order, images, seed)
        if correlated:
            there, first = _correlated(checked, correlated, setting)
            result: Result = {
                **simulating_correlated.simulate(checked, setting, there, first),
                "correlated": correlated,
            }
        else:
            result = simulating_queries.simulate(checked, setting)
        questions_by_node = result.pop("asked")
        spent = result["questions_per_image"] * seconds
        return result | {
            "mode": mode,
            "order": order,
            "present": present,
            "error": error,
            "seconds_per_image": spent,
            "cost_per_image": None if cost_per_hour is None else spent / 3600 * cost_per_hour,
            "depths": _depths(checked, questions_by_node),
        }

    def show_queries(self, result: Result) -> str:
        width = result["half_width"]
        exact = "exact" if result["exact"] else f"± {width:.3g}"
        rows: list[tuple[str, Any, str]] = [
            ("questions an image", round(result["questions_per_image"], 2), exact),
            ("asking for each class", result["naive"], ""),
            ("ratio", round(result["ratio"], 4), ""),
            ("wrong class labels an image", round(result["wrong_labels_per_image"], 3), ""),
            ("… that are there and lost", round(result["missed_labels_per_image"], 3), ""),
            ("seconds an image", round(result["seconds_per_image"], 1), ""),
        ]
        if result["cost_per_image"] is not None:
            rows.append(("cost of an image", round(result["cost_per_image"], 4), ""))
        if "settled_90" in result:
            beside = f"breadth-first: {result['settled_90_breadth']:.2f}"
            rows.append(
                ("questions until 90 % are settled", round(result["settled_90"], 2), beside)
            )
        depths = [
            (
                row["depth"],
                row["nodes"],
                round(row["asked"], 2),
                round(row["asked"] / row["nodes"], 4),
            )
            for row in result["depths"]
        ]
        head = f"{result['mode']} mode, {result['order']} order"
        body = table(depths, ("depth", "nodes", "asked an image", "share"))
        if "curve" in result:
            rows += _equal_error(result)
            body = f"{_curve(result)}\n\n{body}"
        return f"{head}\n\n{table(rows)}\n\n{body}"


def _checked(path: Path, clean: Callable[[dict[str, Any]], Made]) -> Made:
    """What `clean` makes of a YAML file; its refusal names the file."""
    try:
        return clean(read_yaml(path))
    except Refusal as refusal:
        raise BadInput(refusal.message, file=path) from None


def _graph(name: str) -> Graph:
    """The graph in a file, or the one that comes with Assay."""
    if name == ILSVRC and not os.path.exists(name):
        return shipped(ILSVRC)
    try:
        return build(read(name))
    except GraphError as error:
        raise BadInput(error.message, file=name) from None


def _correlated(
    graph: Graph, name: str, setting: simulating_queries.Setting
) -> tuple[NDArray[np.bool_], int]:
    """Classes of images, and how many of these are learned from."""
    if setting.order != "learned":
        raise UsageError("--correlated goes with --order learned")
    first = simulating_correlated.LEARNED_ON
    if name not in simulating_correlated.GENERATORS:
        there = simulating_correlated.read_labels(graph, Path(name))
        return there, min(first, len(there) // 2)
    _, size, anywhere = simulating_correlated.GENERATORS[name]
    if len(graph.leaves) < size:
        raise UsageError(f"{name} needs a graph of {size} classes or more")
    if size and not anywhere <= setting.present <= anywhere + size:
        raise UsageError(
            f"--present is {setting.present:g}; {name} takes {anywhere:g} to {anywhere + size:g}"
        )
    count = first + setting.images
    there = simulating_correlated.generate(graph, name, setting.present, count, setting.seed)
    return there, first


def _equal_error(result: Result) -> list[tuple[str, Any, str]]:
    ratio, interval = result["ratio_at_equal_error"], result["ratio_interval"]
    words = "not reached at any price" if ratio is None else round(ratio, 3)
    within = f"95 % interval {interval[0]:.3f} to {interval[1]:.3f}" if interval else ""
    return [
        ("… that are false", round(result["false_per_image"], 3), ""),
        ("of Algorithm 1's questions, at equal error", words, within),
    ]


def _curve(result: Result) -> str:
    head = ("price", "questions", "of Algorithm 1", "missed", "stated", "false", "stated")
    rows: list[tuple[Any, ...]] = [
        (
            f"{row['price']:g}",
            f"{row['questions_per_image']:.2f}",
            f"{row['ratio']:.3f}",
            f"{row['missed_per_image']:.3f}",
            f"{row['stated_missed_per_image']:.3f}",
            f"{row['false_per_image']:.3f}",
            f"{row['stated_false_per_image']:.3f}",
        )
        for row in result["curve"]
    ]
    plain = result["algorithm_1"]
    rows.append(
        (
            "Algorithm 1",
            f"{plain['questions_per_image']:.2f}",
            "1",
            f"{plain['missed_per_image']:.3f}",
            "",
            f"{plain['false_per_image']:.3f}",
            "",
        )
    )
    learned = (
        f"{count_of(result['scenes'], 'scene')} learned from "
        f"{count_of(result['learned_on'], 'image')}, tried on {result['images']:,} others"
    )
    return f"{learned}\n\n{table(rows, head)}"


def _check(
    graph: Graph,
    present: float,
    error: float,
    seconds: float,
    cost_per_hour: float | None,
    images: int,
    seed: int,
) -> None:
    leaves = len(graph.leaves)
    if not 0 <= present <= leaves:
        raise UsageError(
            f"--present is {present:g}; the graph has {count_of(leaves, 'class', 'classes')}, "
            f"give 0 to {leaves}"
        )
    if not 0 <= error < 1:
        raise UsageError(f"--error is {error:g}; give a share from 0 to below 1, such as 0.05")
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--seconds is {seconds:g}; give a time above 0")
    if cost_per_hour is not None and not 0 <= cost_per_hour < float("inf"):
        raise UsageError(f"--cost-per-hour is {cost_per_hour:g}; give 0 or more")
    if images < 2:
        raise UsageError(f"--images is {images}; give 2 or more")
    _check_seed(seed)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise UsageError(f"--seed is {seed}; give 0 or more")


def _depths(graph: Graph, questions_by_node: NDArray[np.float64]) -> list[dict[str, float]]:
    """Nodes and questions asked of an image, by depth below the roots."""
    nodes: dict[int, int] = defaultdict(int)
    questions: dict[int, float] = defaultdict(float)
    for node, share in zip(graph.nodes, questions_by_node.tolist(), strict=True):
        nodes[node.depth] += 1
        questions[node.depth] += share
    return [{"depth": d, "nodes": nodes[d], "asked": questions[d]} for d in sorted(nodes)]
