"""Reads question graphs from files and validates them. Pure, no Django.

A graph asks "is there an animal?" before "is there a cat?" (Russakovsky et al. 2015, §3.3.3 and
Appendix D). docs/explanation/question-graphs.md has the format; `replaying.py` replays answers over
a graph.
"""

import functools
import graphlib
import json
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
import yaml

from labeling import strict_yaml
from labeling.errors import Refusal
from labeling.files import BadInput, StrPath
from labeling.json_text import canonical_sha256

SHIPPED = Path(__file__).parent / "data"
# A node's id is stored as the topic of its questions; this is the length of that column.
ID_LENGTH = 64
MAX_NODES = 20_000
FAULTS_SHOWN = 20


class GraphError(Refusal, ValueError):
    """An invalid graph. faults: one sentence each, with the node and the cure. line: if known."""

    code = "bad_graph"

    def __init__(self, faults: str | Sequence[str], line: int | None = None) -> None:
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        self.line = line
        message = "\n".join(self.faults[:FAULTS_SHOWN])
        more = len(self.faults) - FAULTS_SHOWN
        super().__init__(message + (f"\nand {more} more" if more > 0 else ""), field="graph")


@dataclass(frozen=True)
class Node:
    """One question of a graph.

    parents, children: ids of nodes. key: the class of a leaf, "" for an inner question. name: for
    lists, "" if there is none. depth: longest path from a root, in edges.
    """

    id: str
    question: str
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    key: str = ""
    name: str = ""
    guidance: str = ""
    definition: str = ""
    synonyms: tuple[str, ...] = ()
    depth: int = 0

    @property
    def leaf(self) -> bool:
        return bool(self.key)

    @property
    def title(self) -> str:
        """Return the name, or the question if the node has no name."""
        return self.name or self.question

    def content(self) -> dict[str, object]:
        content: dict[str, object] = {
            "id": self.id,
            "question": self.question,
            "parents": list(self.parents),
            "class": self.key or None,
            "name": self.name,
            "guidance": self.guidance,
            "definition": self.definition,
            "synonyms": list(self.synonyms),
        }
        return {k: v for k, v in content.items() if v or k in {"id", "question", "parents"}}


class GraphContent(TypedDict):
    name: str
    source: str
    notes: NotRequired[list[str]]
    nodes: list[dict[str, object]]


@dataclass(frozen=True)
class QuestionGraph:
    """A valid graph.

    nodes: breadth-first, so that parents precede their children; sorted by depth, then by position
    in `printed`. printed: ids of the nodes depth-first, as an indented list prints them.
    """

    nodes: tuple[Node, ...]
    printed: tuple[str, ...]
    name: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Return id → position in `nodes`."""
        return {node.id: position for position, node in enumerate(self.nodes)}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Return the ids, breadth-first."""
        return tuple(node.id for node in self.nodes)

    @functools.cached_property
    def by_key(self) -> dict[str, str]:
        """Return class key → node id."""
        return {node.key: node.id for node in self.nodes if node.key}

    @functools.cached_property
    def roots(self) -> tuple[str, ...]:
        return tuple(node.id for node in self.nodes if not node.parents)

    @functools.cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(node.id for node in self.nodes if node.leaf)

    @property
    def depth(self) -> int:
        return max(node.depth for node in self.nodes)

    @functools.cached_property
    def parent_positions(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.index[i] for i in node.parents) for node in self.nodes)

    @functools.cached_property
    def child_positions(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.index[i] for i in node.children) for node in self.nodes)

    @functools.cached_property
    def below(self) -> npt.NDArray[np.bool_]:
        """Return (N, N): [a, d] is true if d is a proper descendant of a."""
        reach = np.zeros((len(self.nodes), len(self.nodes)), bool)
        for a in range(len(self.nodes) - 1, -1, -1):
            for child in self.child_positions[a]:
                reach[a] |= reach[child]
                reach[a, child] = True
        return reach

    @functools.cached_property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Return (N, N): [a, d] is true if each path from a root to d contains a, and a ≠ d."""
        through = np.zeros((len(self.nodes), len(self.nodes)), bool)
        for d, parents in enumerate(self.parent_positions):
            by_parent = [
                through[:, parent] | (np.arange(len(self.nodes)) == parent) for parent in parents
            ]
            if by_parent:
                through[:, d] = np.logical_and.reduce(by_parent)
        return through

    @functools.cached_property
    def masks(self) -> "NodeMasks":
        return NodeMasks(self)

    def ids(self, mask: int) -> list[str]:
        """Return the ids in a bit set over positions, breadth-first."""
        names = self.names
        # If few bits are set, it is faster to pick them one by one.
        if mask.bit_count() > len(names) // 20:
            return [name for name, bit in zip(names, bin(mask)[:1:-1], strict=False) if bit == "1"]
        ids = []
        while mask:
            lowest_bit = mask & -mask
            ids.append(names[lowest_bit.bit_length() - 1])
            mask ^= lowest_bit
        return ids

    def node(self, node_id: str) -> Node:
        """Return the node with this id. Raises KeyError."""
        return self.nodes[self.index[node_id]]

    def descendants(self, node_id: str) -> tuple[str, ...]:
        return tuple(self.ids(self.masks.below[self.index[node_id]]))

    def ancestors(self, node_id: str) -> tuple[str, ...]:
        column = self.below[:, self.index[node_id]]
        return tuple(self.nodes[p].id for p in np.flatnonzero(column))

    def find(self, key: str) -> str | None:
        """Return the id of the node with this id or class key; None if there is none."""
        return key if key in self.index else self.by_key.get(key)

    def content(self) -> GraphContent:
        """Return the graph in our file format; `build(graph.content())` returns an equal graph."""
        nodes = [self.node(node_id).content() for node_id in self.printed]
        if not self.notes:
            return {"name": self.name, "source": self.source, "nodes": nodes}
        notes = list(self.notes)
        return {"name": self.name, "source": self.source, "notes": notes, "nodes": nodes}

    @functools.cached_property
    def sha256(self) -> str:
        """Return the SHA-256 of the canonical JSON of `content()`."""
        return canonical_sha256(self.content())

    def diff(self, newer: "QuestionGraph") -> dict[str, list[Any]]:
        """Return ids of added and removed nodes, and the changed fields of changed nodes."""
        changed = []
        for node in self.nodes:
            if node.id in newer.index:
                old, new = node.content(), newer.node(node.id).content()
                fields = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
                if fields:
                    changed.append({"id": node.id, "fields": fields})
        return {
            "added": [node.id for node in newer.nodes if node.id not in self.index],
            "removed": [node.id for node in self.nodes if node.id not in newer.index],
            "changed": changed,
        }


class NodeMasks:
    """Bit sets over node positions, as integers, which are fast for one image at a time.

    Each tuple has one bit set per node. below: all descendants. alone: descendants that can only be
    reached through the node. shared_next: children of the node, or of nodes in its `alone`, that
    have several parents.
    """

    def __init__(self, graph: QuestionGraph) -> None:
        self.roots = self.of(graph, graph.roots)
        self.parents = tuple(self.of(graph, node.parents) for node in graph.nodes)
        self.children = tuple(self.of(graph, node.children) for node in graph.nodes)
        self.below = tuple(_bits(np.flatnonzero(row).tolist()) for row in graph.below)
        self.alone = tuple(_bits(np.flatnonzero(row).tolist()) for row in graph.alone)
        many_parents = self.of(graph, [node.id for node in graph.nodes if len(node.parents) > 1])
        shared = [mask & many_parents for mask in self.children]
        self.shared_next = tuple(
            functools.reduce(operator.or_, (shared[d] for d in np.flatnonzero(row)), shared[a])
            for a, row in enumerate(graph.alone)
        )

    @staticmethod
    def of(graph: QuestionGraph, names: Iterable[str]) -> int:
        """Return the bit set of these ids."""
        return _bits(graph.index[name] for name in names)


def _bits(positions: Iterable[int]) -> int:
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def parse(text: str, name: str = "") -> dict[str, object]:
    """Return the raw graph in a JSON or YAML text. Raises GraphError with the line."""
    prefix = f"{name}: " if name else ""
    try:
        # The first character decides, because YAML reads some broken JSON with another meaning.
        raw = json.loads(text) if text.lstrip()[:1] in {"{", "["} else strict_yaml.load(text)
    except json.JSONDecodeError as error:
        raise _unreadable(prefix, "JSON", error.msg, error.lineno) from None
    except ValueError:
        # Python refuses to parse a number with thousands of digits.
        raise _unreadable(prefix, "JSON", "a number is too long", None) from None
    except strict_yaml.Refers as error:
        raise GraphError(
            f"{prefix}uses a YAML alias (*name) in line {error.line}; write the value instead",
            line=error.line,
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise _unreadable(prefix, "YAML", problem, mark.line + 1 if mark else None) from None
    except RecursionError:
        raise GraphError(f"{prefix}nests too deeply; a graph is a flat list of nodes") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("nodes"), list):
        raise GraphError(f'{prefix}has no list "nodes"; write {{"nodes": [{{"id": …}}]}}')
    return raw


def _unreadable(prefix: str, language: str, problem: str, line: int | None) -> GraphError:
    in_line = f" in line {line}" if line else ""
    return GraphError(f"{prefix}not {language}{in_line}: {problem}; correct the file", line=line)


def read(path: StrPath) -> dict[str, object]:
    """Return the raw graph in a file. Raises BadInput with the line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise BadInput(reason, file=path, cure="name a JSON or YAML file") from None
    try:
        return parse(text)
    except GraphError as error:
        raise BadInput(error.message, file=path, line=error.line) from None


def shipped(name: str) -> QuestionGraph:
    """Return the graph of this name that ships with Assay. There is one, "ilsvrc"."""
    path = SHIPPED / {"ilsvrc": "ilsvrc_detection.json"}[name]
    return build(parse(path.read_text(encoding="utf-8"), path.name))


def build(raw: Mapping[str, object]) -> QuestionGraph:
    """Return the graph for the content of a file, in our format or ILSVRC's.

    Raises GraphError with every fault.
    """
    entries, faults = _entries(raw)
    faults += _link(entries)
    faults += _faults(entries)
    if faults:
        raise GraphError(faults)
    depth = _depths(entries)
    printed = _depth_first(entries)
    position_of = {node_id: position for position, node_id in enumerate(printed)}
    nodes = []
    for node in entries.values():
        parents, children = (
            tuple(sorted(ids, key=position_of.__getitem__)) for ids in (node.parents, node.children)
        )
        nodes.append(replace(node, parents=parents, children=children, depth=depth[node.id]))
    nodes.sort(key=lambda node: (node.depth, position_of[node.id]))
    return QuestionGraph(
        nodes=tuple(nodes),
        printed=tuple(printed),
        name=_text(raw.get("name")),
        source=_text(raw.get("source")),
        notes=_texts(raw.get("notes", raw.get("decisions"))) or (),
    )


def _text(value: object) -> str:
    """Return the value as one line of text that a database can store; "" for a collection."""
    # str() of a collection would be Python syntax of any length.
    if value is None or isinstance(value, list | tuple | Mapping | set):
        return ""
    text = str(value).replace("\0", "").encode("utf-8", "replace").decode()
    return " ".join(text.split())


def _texts(value: object) -> tuple[str, ...] | None:
    """Return the texts of a list, () for None, and None if the value is not a list."""
    if value is None:
        return ()
    return tuple(_text(v) for v in value) if isinstance(value, list | tuple) else None


def _entries(raw: Mapping[str, object]) -> tuple[dict[str, Node], list[str]]:
    """Return the nodes by id in the order of the file, and the faults of single nodes."""
    rows = raw.get("nodes")
    if not isinstance(rows, list) or not rows:
        return {}, ['The graph has no nodes; write {"nodes": [{"id": …, "question": …}]}.']
    if len(rows) > MAX_NODES:
        return {}, [f"The graph has {len(rows)} nodes; {MAX_NODES} are the most."]
    entries: dict[str, Node] = {}
    faults = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or not _text(row.get("id")):
            faults.append(f"Node {number} of the list has no id; add one.")
            continue
        node, node_faults = _node(row)
        if node.id in entries:
            faults.append(f"{node.id}: the id occurs twice; rename one of them.")
            continue
        faults += node_faults
        entries[node.id] = node
    return entries, faults


def _node(row: Mapping[str, object]) -> tuple[Node, list[str]]:
    """Return the node of a row, with empty fields for unreadable ones, and the row's faults."""
    node_id, question, faults = _text(row["id"]), _text(row.get("question")), []
    raw_key = row.get("class", row.get("wnid"))
    # In ILSVRC's file a leaf may lack a wnid; its id is then its class.
    key = _text(row["id"] if raw_key is None and row.get("leaf") else raw_key)
    if len(node_id) > ID_LENGTH:
        faults.append(
            f"{node_id[:ID_LENGTH]}…: the id has {len(node_id)} characters, at most 64 fit."
        )
    if len(key) > ID_LENGTH:
        faults.append(f"{node_id}: its class has {len(key)} characters, at most 64 fit.")
    if not question:
        faults.append(f"{node_id}: the question is empty; write its text.")
    lists = {}
    for list_name, value in (
        ("parents", row.get("parents")),
        ("children", row.get("children")),
        ("synonyms", row.get("synonyms", row.get("wn_lemmas"))),
    ):
        texts = _texts(value)
        if texts is None:
            faults.append(f"{node_id}: {list_name} is not a list; write a list of texts.")
        repeated = [text for text, n in Counter(texts).items() if n > 1 and list_name != "synonyms"]
        if repeated:
            faults.append(f"{node_id}: {list_name} names {repeated[0]} twice; name it once.")
            texts = tuple(dict.fromkeys(texts or ()))
        lists[list_name] = texts or ()
    node = Node(
        id=node_id,
        question=question,
        key=key,
        name=_text(row.get("name")),
        guidance=_text(row.get("guidance")),
        definition=_text(row.get("definition")),
        parents=lists["parents"],
        children=lists["children"],
        synonyms=lists["synonyms"],
    )
    return node, faults


def _link(entries: dict[str, Node]) -> list[str]:
    """Link each node both ways, with neighbours in the order of the file; return the faults.

    A file may give parents, children or both. If it gives both, they must agree.
    """
    faults = []
    has_parents = any(entry.parents for entry in entries.values())
    has_children = any(entry.children for entry in entries.values())
    for name, entry in entries.items():
        for list_name, word, inverse, has_inverse in (
            ("parents", "parent", "children", has_children),
            ("children", "child", "parents", has_parents),
        ):
            for neighbour in getattr(entry, list_name):
                if neighbour not in entries:
                    faults.append(
                        f"{name}: its {word} {neighbour} is not in the graph; add it, or remove "
                        "the link."
                    )
                elif has_inverse and name not in getattr(entries[neighbour], inverse):
                    faults.append(
                        f"{name}: names the {word} {neighbour}, whose {inverse} do not list it; "
                        "correct one of the two."
                    )
    links = {(p, c) for c, entry in entries.items() for p in entry.parents if p in entries}
    links |= {(p, c) for p, entry in entries.items() for c in entry.children if c in entries}
    parents, children = defaultdict(list), defaultdict(list)
    position_of = {name: position for position, name in enumerate(entries)}
    for parent, child in sorted(links, key=lambda link: [position_of[name] for name in link]):
        parents[child].append(parent)
        children[parent].append(child)
    for name, entry in entries.items():
        entries[name] = replace(entry, parents=tuple(parents[name]), children=tuple(children[name]))
    return faults


def _faults(entries: dict[str, Node]) -> list[str]:
    """Return the faults that show only once the nodes are linked."""
    faults = []
    classes: dict[str, str] = {}
    for name, entry in entries.items():
        key, children = entry.key, entry.children
        if key and children:
            faults.append(
                f"{name}: a leaf (class {key}) that is the parent of {', '.join(children[:3])}; "
                "remove the class or the children."
            )
        if not key and not children:
            faults.append(f"{name}: has neither children nor a class; add one.")
        if key and key in classes:
            faults.append(f"{name}: its class {key} is that of {classes[key]} already.")
        if key and key != name and key in entries:
            faults.append(f"{name}: its class {key} is the id of another node; rename one.")
        classes.setdefault(key, name)
    try:
        graphlib.TopologicalSorter({n: e.parents for n, e in entries.items()}).prepare()
    except graphlib.CycleError as error:
        cycle = list(error.args[1])
        faults.append(f"{' → '.join(cycle)}: is a cycle; remove one link.")
    unreachable = set(entries) - _reachable(entries)
    leaves = [name for name in entries if name in unreachable and entries[name].key]
    faults += [f"{name}: a leaf that no root leads to; link it to a root." for name in leaves]
    return faults


def _reachable(entries: dict[str, Node]) -> set[str]:
    """Return the ids of the roots and everything below them."""
    todo = [name for name, entry in entries.items() if not entry.parents]
    seen = set(todo)
    while todo:
        fresh = [c for c in entries[todo.pop()].children if c not in seen]
        seen.update(fresh)
        todo += fresh
    return seen


def _depths(entries: dict[str, Node]) -> dict[str, int]:
    """Return id → longest path from a root, in edges."""
    depths: dict[str, int] = {}
    parents = {name: entry.parents for name, entry in entries.items()}
    for name in graphlib.TopologicalSorter(parents).static_order():
        depths[name] = max((depths[p] + 1 for p in parents[name]), default=0)
    return depths


def _depth_first(entries: dict[str, Node]) -> list[str]:
    """Return the ids depth-first; a node with several parents comes below the first of them."""
    printed: dict[str, None] = {}
    todo = [name for name, entry in reversed(entries.items()) if not entry.parents]
    while todo:
        name = todo.pop()
        if name not in printed:
            printed[name] = None
            todo += reversed(entries[name].children)
    return list(printed)
