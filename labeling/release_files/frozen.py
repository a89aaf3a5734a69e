"""Release folders: written atomically, hashed by line, verified when read. No database.

A folder has `release.json` and the files that it lists. `release.json` states the SHA-256 of each
file and of the whole.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

from labeling.boxes.chain import ABSENT
from labeling.files import BadInput, StrPath, file_sha256, is_storable, sync_folder
from labeling.json_text import canonical, canonical_sha256
from labeling.kinds import KINDS, Kind
from labeling.kinds.base import BOXES, GRAPH, OBJECTS
from labeling.parts.background import with_rest
from labeling.parts.model import PartedObject, Photograph
from labeling.question_graph.graph import QuestionGraph, build
from labeling.question_graph.inferring import Inference, LearnedScenes
from labeling.question_graph.scenes import Utility
from labeling.release_files import frozen_boxes, frozen_labels, frozen_objects
from labeling.release_files.frozen_boxes import BOXES_FILE, COVERAGE_FILE, BoxStatedError
from labeling.release_files.frozen_labels import AnswerLine, GivenLine, LabelLine
from labeling.release_files.frozen_objects import CategoryTally
from labeling.release_files.groups import Groups

FORMAT = "assay-release"
FILES = ("answers.jsonl", "images.jsonl", "topics.jsonl", "votes.jsonl")
# Further files where questions follow a graph.
GRAPH_FILES = ("given.jsonl", "graph.json")
# … and, where any node may be asked, the scenes that other labels are inferred from.
SCENES_FILE = "scenes.json"
# Where people draw the parts of objects.
OBJECTS_FILE = "objects.jsonl"
PART_FILES = (OBJECTS_FILE,)
# Where people draw boxes.
BOX_FILES = (BOXES_FILE, COVERAGE_FILE)
ALL_FILES = (*FILES, *GRAPH_FILES, SCENES_FILE, *PART_FILES, *BOX_FILES)
EXTRA_FILES = {GRAPH: GRAPH_FILES, OBJECTS: PART_FILES, BOXES: BOX_FILES}
FREEZE_AGAIN = "freeze the campaign again, or fetch the release again"
# Keys of release.json that are not content.
_OUTSIDE = ("number", "created_at", "sha256")

# JSON of a line, or of the head: TypedDicts of their writers.
Line = dict[str, Any]
T = TypeVar("T")
U = TypeVar("U")


class ImageLine(TypedDict):
    """A line of images.jsonl. queries: {"wnid", "query"} of each query that found the image."""

    name: str
    width: int
    height: int
    sha256: str
    licence: str
    source: str
    queries: NotRequired[list[dict[str, str]]]


class FileHead(TypedDict):
    bytes: int
    lines: int
    sha256: str


class CampaignHead(TypedDict):
    name: str
    title: str
    kind: str
    dataset: str
    instructions: str
    settings: dict[str, Any]


class PolicyHead(TypedDict):
    version: int
    content: Mapping[str, object]


class Head(TypedDict):
    """The parts of release.json that are read here. export: options of an export."""

    format: str
    campaign: CampaignHead
    counts: dict[str, Any]
    files: dict[str, FileHead]
    sha256: str
    number: NotRequired[int]
    created_at: NotRequired[str]
    parts: NotRequired[dict[str, CategoryTally]]
    stated: NotRequired[dict[str, BoxStatedError]]
    policies: NotRequired[list[PolicyHead]]
    stated_error: NotRequired[dict[str, object]]
    unlisted: NotRequired[str]
    export: NotRequired[dict[str, Any]]


@dataclass(frozen=True)
class Frozen:
    """A release that was read back and verified."""

    folder: Path
    meta: Head

    @property
    def kind(self) -> Kind:
        """Return the kind of its campaign. Raises BadInput for an unknown kind."""
        name = self.meta["campaign"]["kind"]
        if name not in KINDS:
            raise BadInput(
                f"is of a campaign of the kind {name!r}, which this site does not have",
                file=self.folder,
                cure="add the kind to ASSAY_QUESTION_KINDS",
            )
        return KINDS[name]

    def lines(self, name: str) -> Iterator[Any]:
        """Yield the lines of one file in order; memory stays constant."""
        return lines_of(self.folder / name)

    def answers(self) -> Iterator[AnswerLine]:
        return self.lines("answers.jsonl")

    def votes(self) -> Iterator[Any]:
        return self.lines("votes.jsonl")

    def topics(self) -> Iterator[dict[str, str]]:
        return self.lines("topics.jsonl")

    def images(self) -> Iterator[ImageLine]:
        return self.lines("images.jsonl")

    def known_labels(self) -> Iterator[GivenLine]:
        """Return the labels known before anybody was asked, where questions follow a graph."""
        return self.lines("given.jsonl") if "given.jsonl" in self.meta["files"] else iter(())

    def graph(self) -> QuestionGraph | None:
        """Return the question graph, if the campaign had one."""
        if "graph.json" not in self.meta["files"]:
            return None
        return build(json.loads((self.folder / "graph.json").read_text(encoding="utf-8")))

    def labels(self) -> Iterator[LabelLine]:
        """Yield every label, image by image; memory stays constant.

        value: "yes", "no" or "unknown". origin: "explicit" (people answered), "inherited" (closed
        by an answer on a parent), "given" or "inferred" (by the scenes of scenes.json). decided:
        False where nobody has answered yet or nothing is certain enough; such a label is "unknown",
        never "no". With a graph: every class of every image, in the order of images.jsonl. Else:
        settled labels; for parts, the objects' categories with "boxes"; for boxes, the state of
        each class.
        """
        if "objects.jsonl" in self.meta["files"]:
            return frozen_labels.of_objects(self.answers())
        if COVERAGE_FILE in self.meta["files"]:
            return frozen_labels.of_boxes(self._boxed())
        graph = self.graph()
        if graph is None:
            return frozen_labels.explicit(self.answers(), self.kind.abstentions)
        mode = self.meta["campaign"]["settings"].get("mode", "safe")
        images = (line["name"] for line in self.images())
        lines = images, self.answers(), self.known_labels(), self.kind.abstentions
        return frozen_labels.by_graph(graph, mode, *lines, self._inference(graph))

    def _inference(self, graph: QuestionGraph) -> Inference | None:
        if SCENES_FILE not in self.meta["files"]:
            return None
        content = json.loads((self.folder / SCENES_FILE).read_text(encoding="utf-8"))
        utility = Utility(content["price"], content["false_cost"])
        return Inference.of(graph, LearnedScenes.from_json(content["scenes"]), utility)

    def _boxed(self) -> Iterator[frozen_boxes.LabelOfBoxes]:
        absent = self.meta.get("unlisted") == ABSENT
        return frozen_boxes.labels(
            (line["name"] for line in self.images()),
            self.lines(COVERAGE_FILE),
            self.lines(BOXES_FILE),
            [line["key"] for line in self.topics()] if absent else (),
        )

    def parts(self) -> dict[str, dict[str, str]]:
        """Return wnid → key → name of the parts in order; empty without parts."""
        categories = self.meta["campaign"]["settings"].get("categories", {})
        return {
            key: {part["key"]: part["name"] for part in category["parts"]}
            for key, category in categories.items()
        }

    def objects(self, rest: bool = True) -> Iterator[tuple[Photograph, list[PartedObject]]]:
        """Yield every image with its settled objects and their parts, in the order of the files.

        The last parts of an object have origin "made". They are the area that no other part covers
        (background.py): of the object, if its outline is known, and of the background in its crop.
        rest: False omits them. Works image by image; memory stays constant.
        """
        return map_ahead(_with_rest, self._parted()) if rest else self._parted()

    def _parted(self) -> Iterator[tuple[Photograph, list[PartedObject]]]:
        names = self.parts()
        has_objects = "objects.jsonl" in self.meta["files"]
        drawn = Groups[Any](self.lines("objects.jsonl") if has_objects else ())
        for line in self.images():
            photo = photograph(line)
            yield (
                photo,
                [
                    frozen_objects.to_parted_object(row, names.get(row["category"], {}))
                    for row in drawn.of(photo.name)
                ],
            )


def lines_of(path: Path) -> Iterator[Any]:
    """Yield the lines of a file in order; memory stays constant."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def photograph(line: ImageLine) -> Photograph:
    return Photograph(
        line["name"], line["width"], line["height"], line["sha256"], line["licence"], line["source"]
    )


def _with_rest(
    scene: tuple[Photograph, list[PartedObject]],
) -> tuple[Photograph, list[PartedObject]]:
    photo, objects = scene
    return photo, [with_rest(parted) for parted in objects]


def map_ahead(action: Callable[[T], U], values: Iterable[T], many: int = 16) -> Iterator[U]:
    """Yield the action's result for each item in order, computing a few ahead in a thread.

    For actions that release the GIL, as shapely's do: computing the rest costs about as long as
    writing it.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        waiting: deque[Future[U]] = deque()
        for value in values:
            waiting.append(pool.submit(action, value))
            if len(waiting) >= many:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def files_of(kind: str) -> tuple[str, ...]:
    """Return the files of a release of a campaign of that kind."""
    return tuple(sorted(FILES + EXTRA_FILES.get(KINDS[kind].release, ())))


def read(source: StrPath, sha256: str | None = None) -> Frozen:
    """Return a release folder after verifying every file against release.json.

    sha256: the expected hash of the whole; by default release.json's own.
    Raises BadInput, which names the file and the cure.
    """
    folder = Path(source)
    meta = head(folder, sha256)
    for name, stated in meta["files"].items():
        _check_file(folder / name, stated["sha256"])
    return Frozen(folder, meta)


def head(folder: Path, sha256: str | None = None) -> Head:
    """Return release.json after verifying its own hash, without reading its files. Raises
    BadInput.
    """
    path = folder / "release.json"
    try:
        meta: Any = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput("is not a release", file=path, cure=FREEZE_AGAIN) from None
    except (ValueError, RecursionError):
        raise BadInput("is not JSON", file=path, cure=FREEZE_AGAIN) from None
    if not _is_head(meta):
        raise BadInput(f"is not the header of an {FORMAT}", file=path, cure=FREEZE_AGAIN)
    if digest(meta) != (sha256 or meta["sha256"]):
        raise BadInput("was changed after it was frozen", file=path, cure=FREEZE_AGAIN)
    return meta


def _is_head(value: object) -> bool:
    """Return whether this has every required key, is storable and names only files of its folder.

    Anybody can write a release.json with a valid hash.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT or not is_storable(value):
        return False
    files, campaign = value.get("files"), value.get("campaign")
    return (
        isinstance(value.get("sha256"), str)
        and isinstance(files, dict)
        and not any(name.startswith("/") or ".." in name.split("/") for name in files)
        and all(isinstance(entry, dict) and "sha256" in entry for entry in files.values())
        and isinstance(campaign, dict)
        and isinstance(campaign.get("name"), str)
        and isinstance(campaign.get("kind"), str)
        and isinstance(campaign.get("settings"), dict)
    )


def digest(meta: Mapping[str, object]) -> str:
    """Return the SHA-256 of the whole: release.json without number, date and this hash."""
    content = {key: value for key, value in meta.items() if key not in _OUTSIDE}
    return canonical_sha256(content)


class LineFile:
    """A file of canonical JSON lines, hashed while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self.hash = hashlib.sha256()
        self.count = 0

    def __enter__(self) -> "LineFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, line: object) -> int:
        """Write a line and return its length in bytes."""
        data = canonical(line) + b"\n"
        self.append(data, 1)
        return len(data)

    def append(self, data: bytes, lines: int) -> None:
        """Append lines that are canonical JSON."""
        self.file.write(data)
        self.hash.update(data)
        self.count += lines

    def close(self) -> FileHead:
        self.file.flush()
        os.fsync(self.file.fileno())
        size = self.file.tell()
        self.file.close()
        return {"bytes": size, "lines": self.count, "sha256": self.hash.hexdigest()}


def write_synced(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def publish(building: Path, goal: Path) -> None:
    """Rename `building` to `goal` and sync."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    # `goal` exists if a freeze died between the rename and the commit; no row refers to it.
    shutil.rmtree(goal, ignore_errors=True)
    os.chmod(building, 0o750)  # noqa: S103 - mkdtemp gives 0700; the group serves it
    sync_folder(building)
    os.rename(building, goal)
    sync_folder(goal.parent)


def check_goal(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput("already exists", file=out, cure="name a folder that does not exist yet")
    if not out.resolve().parent.is_dir():
        raise BadInput("its folder does not exist", file=out, cure=f"create {out.parent}")


@contextlib.contextmanager
def appearing(out: Path) -> Iterator[Path]:
    """Yield a folder to fill; it is renamed to `out` on success and removed on failure."""
    goal = out.resolve()
    unfinished = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent))
    try:
        yield unfinished
        os.chmod(unfinished, 0o755)  # noqa: S103 - as mkdir would
        if goal.exists():
            goal.rmdir()
        os.rename(unfinished, goal)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def copy(folder: Path, out: Path) -> None:
    with appearing(out) as unfinished:
        for path in sorted(folder.iterdir()):
            shutil.copyfile(path, unfinished / path.name)


def _check_file(path: Path, stated: str) -> None:
    try:
        digest = file_sha256(path)
    except FileNotFoundError:
        raise BadInput("is missing from the release", file=path, cure=FREEZE_AGAIN) from None
    if digest != stated:
        raise BadInput("differs from what was frozen", file=path, cure=FREEZE_AGAIN)
