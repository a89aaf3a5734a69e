"""Read and write a sharded pool: pool.jsonl, one predictions folder per line. No Django.

Image ids ascend by their UTF-8 bytes within and across shards, so no image is in two shards, and
each shard can be checked by itself.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.answers import json_lines
from evaluation.readers.image_lists import ImageList, read_bytes
from evaluation.readers.pools import (
    CLASSES,
    IMAGES,
    PredictionPool,
    joined_sha256,
    part_of,
    read_pool,
)
from labeling.files import BadInput, atomic_write, file_sha256, refuse_input, require_file
from labeling.records import Record

WRITE_POOL_AGAIN = "write the pool again with mad pool"
RESTORE_FILE = f"bring it back, or {WRITE_POOL_AGAIN}"
LABELS, CONFIDENCES = ".labels.npy", ".confidences.npy"


@dataclass(kw_only=True)
class Shard(Record):
    """A line of pool.jsonl. path: of the predictions folder, relative to pool.jsonl.

    images: count. first, last: ids of the first and the last image. sha256: of each of its files.
    """

    path: str
    images: int
    first: str
    last: str
    sha256: dict[str, str]


@dataclass(frozen=True)
class ShardedPool:
    """A checked pool.jsonl; open() reads the shards themselves."""

    path: Path
    shards: list[Shard]
    # The line number of each shard.
    lines: list[int]

    @property
    def path_in_messages(self) -> str:
        """Return the path of pool.jsonl for an error message."""
        return str(self.path)

    @property
    def images(self) -> int:
        return sum(shard.images for shard in self.shards)

    @property
    def classifiers(self) -> list[str]:
        files = self.shards[0].sha256
        return sorted(name.removesuffix(LABELS) for name in files if name.endswith(LABELS))

    def open_all(
        self, names: Sequence[str] | None, wordnet: WordNet | None, threads: int = 1
    ) -> Iterator[PredictionPool]:
        """Yield one shard after the other, as open() reads it."""
        for number in range(1, len(self.shards) + 1):
            yield self.open(number, names, wordnet, threads)

    def open(
        self, number: int, names: Sequence[str] | None, wordnet: WordNet | None, threads: int = 1
    ) -> PredictionPool:
        """Return the number-th shard (from 1), as a stretch of the pool.

        names: classifiers in the wanted order, by default all of the pool, sorted. sha256 is that
        of the whole pool's files, see joined_sha256, and sizes is empty. Raises BadInput for a
        missing shard, one whose count or ids differ from its line, or whose files changed.
        """
        folder = self.path.parent / self.shards[number - 1].path
        if not folder.is_dir():
            raise self._bad(number, f"the shard {folder} does not exist", "bring it back")
        return self._read(folder, number, names, wordnet, threads)

    def _read(
        self,
        folder: Path,
        number: int,
        names: Sequence[str] | None,
        wordnet: WordNet | None,
        threads: int,
    ) -> PredictionPool:
        """Return the shard as open() does, from its folder."""
        shard = self.shards[number - 1]
        files = self.needed_files(number, names)
        try:
            pool = read_pool(folder, names or self.classifiers, wordnet, threads=threads)
        except BadInput as error:
            broken = Path(error.file or "")
            if _sha256(broken) == shard.sha256.get(broken.name):
                raise
            # The file was valid when its line was written.
            raise BadInput(error.message, broken, error.line, RESTORE_FILE) from error
        if pool.total != shard.images:
            raise self._bad(
                number,
                f"says {shard.images} images, and {folder} has {pool.total}",
                "bring it back",
            )
        for file in files:
            if pool.sha256[file] != shard.sha256[file]:
                raise self._bad(
                    number, f"{folder / file} has another SHA-256 than the line", "bring it back"
                )
        _refuse_out_of_order(pool.images)
        first, last = (name.decode() for name in pool.images.take([0, pool.total - 1]))
        if (first, last) != (shard.first, shard.last):
            raise self._bad(
                number,
                f"says the images {shard.first!r} to {shard.last!r}, and {folder} has {first!r} "
                f"to {last!r}",
                "bring it back",
            )
        start = sum(before.images for before in self.shards[: number - 1])
        return replace(
            pool,
            part=slice(start, start + pool.total),
            total=self.images,
            sha256={file: self._joined(file) for file in files},
            sizes={},
        )

    def needed_files(self, number: int, names: Sequence[str] | None) -> list[str]:
        """Return the files of a shard that open() reads. Raises BadInput where its line
        lacks one.
        """
        chosen = names or self.classifiers
        files = [
            CLASSES,
            IMAGES,
            *(name + end for name in chosen for end in (LABELS, CONFIDENCES)),
        ]
        for file in files:
            if file not in self.shards[number - 1].sha256:
                raise self._bad(number, f"lists no {file}", "leave the classifier out")
        return files

    def _joined(self, file: str) -> str:
        digests = [shard.sha256[file] for shard in self.shards]
        return digests[0] if file == CLASSES else joined_sha256(digests)

    def _bad(self, number: int, message: str, cure: str) -> BadInput:
        return BadInput(
            message, self.path_in_messages, self.lines[number - 1], f"{cure}, or {WRITE_POOL_AGAIN}"
        )


def read_sharded(path: Path) -> ShardedPool:
    """Return the lines of pool.jsonl, without reading the shards. Raises BadInput."""
    require_file(path, "write one with mad pool DIR --shards N --out pool.jsonl")
    shards: list[Shard] = []
    lines: list[int] = []
    for number, row in json_lines(path):
        shard = _shard(path, number, row)
        if shards:
            _refuse_another_kind(path, number, shards[0], shard)
        last = shards[-1].last if shards else ""
        if shard.first.encode() <= last.encode():
            raise BadInput(
                f"the first image {shard.first!r} does not come after {last!r}, the last of the "
                "line before",
                path,
                number,
                "order the lines by their ids, and have each image in one shard",
            )
        shards.append(shard)
        lines.append(number)
    if not shards:
        raise BadInput("there are no shards", path, None, WRITE_POOL_AGAIN)
    pool = ShardedPool(path, shards, lines)
    if len(pool.classifiers) < 2:
        raise BadInput(
            f"has predictions of {len(pool.classifiers)} classifiers, expected 2 or more",
            path,
            None,
            "write the pool again with the arrays of each classifier in its folder",
        )
    return pool


def write_sharded(folder: Path, count: int, out: Path, threads: int = 1) -> list[Shard]:
    """Cut a predictions folder into shards, and write pool.jsonl as `out`.

    The shards lie in a folder beside `out`, with its name and the suffix .shards; a single shard is
    the predictions folder itself. Raises BadInput for a folder that read_pool refuses, ids that do
    not ascend, fewer images than shards, and shards that already exist; then nothing is left
    behind.
    """
    pool = read_pool(folder, None, None, threads=threads)
    refuse_input(out, [folder / file for file in pool.sha256])
    _refuse_out_of_order(pool.images)
    if count > pool.total:
        raise BadInput(
            f"has {pool.total} images for {count} shards", pool.images.path, None, "ask for fewer"
        )
    if count == 1:
        shard_path = (
            os.path.relpath(folder, out.parent) if not folder.is_absolute() else str(folder)
        )
        shards = [_described(shard_path, pool, slice(0, pool.total), pool.sha256)]
        _write_lines(out, shards)
        return shards
    goal = out.with_name(f"{out.stem}.shards")
    if goal.exists():
        raise BadInput("already exists", goal, None, "remove it, or give another --out")
    if not out.parent.is_dir():
        raise BadInput("its folder does not exist", out, None, f"create {out.parent}")
    work = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", dir=out.parent))
    try:
        shards = [
            _cut(pool, part_of(pool.total, number, count), work, f"{goal.name}/{number}-of-{count}")
            for number in range(1, count + 1)
        ]
        work.chmod(out.parent.stat().st_mode & 0o777)
        work = work.rename(goal)
        _write_lines(out, shards)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return shards


def _cut(pool: PredictionPool, part: slice, work: Path, shard_path: str) -> Shard:
    """Write a stretch of a pool as a predictions folder."""
    folder = work / Path(shard_path).name
    folder.mkdir()
    shutil.copyfile(pool.folder / CLASSES, folder / CLASSES)
    start, stop = (pool.images.byte_of(edge) for edge in (part.start, part.stop))
    with open(folder / IMAGES, "wb") as file:
        file.writelines(read_bytes(pool.images.path, start, stop))
    for name, column in pool.columns.items():
        np.save(folder / name, column.values[part], allow_pickle=False)
    sha256 = {name: file_sha256(folder / name) for name in pool.sha256}
    return _described(shard_path, pool, part, sha256)


def _described(shard_path: str, pool: PredictionPool, part: slice, sha256: dict[str, str]) -> Shard:
    first, last = (name.decode() for name in pool.images.take([part.start, part.stop - 1]))
    return Shard(
        path=shard_path, images=part.stop - part.start, first=first, last=last, sha256=dict(sha256)
    )


def _write_lines(out: Path, shards: Sequence[Shard]) -> None:
    with atomic_write(out) as file:
        for shard in shards:
            file.write(json.dumps(shard.to_json(), ensure_ascii=False) + "\n")


def _sha256(path: Path) -> str | None:
    return file_sha256(path) if path.is_file() else None


def _shard(path: Path, number: int, row: dict[str, object]) -> Shard:
    wrong = BadInput(
        "is not a line of a shard: path, images, first, last and sha256 by file",
        path,
        number,
        WRITE_POOL_AGAIN,
    )
    if not isinstance(row.get("sha256", {}), dict):
        raise wrong
    try:
        shard = Shard.from_json(row)
    except ValueError as error:
        raise BadInput(str(error), path, number, WRITE_POOL_AGAIN) from error
    texts = [shard.path, shard.first, shard.last, *shard.sha256.values()]
    if not (
        all(isinstance(text, str) and text and "\0" not in text for text in texts)
        # bool is a subclass of int.
        and type(shard.images) is int
        and shard.images > 0
        and {CLASSES, IMAGES} <= shard.sha256.keys()
    ):
        raise wrong
    if shard.last.encode() < shard.first.encode():
        raise BadInput(
            f"the last image {shard.last!r} comes before the first {shard.first!r}",
            path,
            number,
            WRITE_POOL_AGAIN,
        )
    return shard


def _refuse_another_kind(path: Path, number: int, first: Shard, shard: Shard) -> None:
    if shard.sha256.keys() != first.sha256.keys():
        [file, *_] = sorted(shard.sha256.keys() ^ first.sha256.keys())
        raise BadInput(
            f"{file} is in one of lines 1 and {number} only",
            path,
            number,
            f"predict all shards by the same classifiers, and {WRITE_POOL_AGAIN}",
        )
    if shard.sha256[CLASSES] != first.sha256[CLASSES]:
        raise BadInput(
            f"has another {CLASSES} than line 1",
            path,
            number,
            f"use one {CLASSES}, and {WRITE_POOL_AGAIN}",
        )


def _refuse_out_of_order(images: ImageList) -> None:
    if images.in_order:
        return
    before = b""
    with open(images.path, "rb") as file:
        for line, text in enumerate(file, start=1):
            name = text.removesuffix(b"\n")
            if line > 1 and name <= before:
                raise BadInput(
                    f"the image id {name.decode()!r} does not come after {before.decode()!r}",
                    images.path,
                    line,
                    "order the ids by their UTF-8 bytes, and the arrays with them",
                )
            before = name
