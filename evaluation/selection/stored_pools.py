"""A sharded pool under s3://, of which a task fetches its own shard; see sharded_pools.py."""

import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from evaluation.engines.input_files import faults_naming_origin
from evaluation.engines.store import Store
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.pools import PredictionPool
from evaluation.readers.sharded_pools import RESTORE_FILE, ShardedPool, read_sharded
from labeling.files import BadInput

S3 = "s3://"
Source = Path | str


@dataclass(frozen=True)
class _StoredPool(ShardedPool):
    """store: the folder of pool.jsonl. fetched: temporary folders of the shard opened last."""

    store: Store
    address: str
    fetched: list[TemporaryDirectory[str]] = field(default_factory=list)

    @property
    def path_in_messages(self) -> str:
        return self.address

    def __post_init__(self) -> None:
        weakref.finalize(self, _remove, self.fetched)

    def open(
        self, number: int, names: Sequence[str] | None, wordnet: WordNet | None, threads: int = 1
    ) -> PredictionPool:
        """Return a shard as ShardedPool.open does; the previously opened shard is removed."""
        _remove(self.fetched)
        shard_path = PurePosixPath(self.shards[number - 1].path)
        if shard_path.is_absolute() or ".." in shard_path.parts:
            raise self._bad(number, f"{shard_path} is not below pool.jsonl", "copy the shard there")
        files = self.needed_files(number, names)
        self.fetched.append(TemporaryDirectory(prefix="assay-"))
        folder = Path(self.fetched[-1].name)
        for file in files:
            self.store.copy(str(shard_path / file), folder / file, RESTORE_FILE)
        address = f"{self.store.address}/{shard_path}"
        with faults_naming_origin(str(folder), address):
            pool = self._read(folder, number, names, wordnet, threads)
        return replace(pool, address=address)


def _remove(folders: list[TemporaryDirectory[str]]) -> None:
    while folders:
        folders.pop().cleanup()


def source_of(text: str) -> Source:
    """Return a path, or an address under s3:// unchanged."""
    return text if text.startswith(S3) else Path(text)


def pool_at(source: Source) -> ShardedPool:
    """Return the pool of a pool.jsonl in a folder or under s3://BUCKET/PREFIX/. Raises BadInput."""
    if isinstance(source, Path):
        return read_sharded(source)
    folder, _, name = source.rpartition("/")
    if not name or not folder.startswith(S3) or folder == S3:
        raise BadInput(
            "names no pool.jsonl", source, None, "give it as s3://BUCKET/PREFIX/pool.jsonl"
        )
    store = Store.at(folder)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        path = Path(scratch) / name
        with faults_naming_origin(str(path), source):
            store.copy(
                name, path, "check the address, or write one with mad pool and copy it there"
            )
            pool = read_sharded(path)
    return _StoredPool(Path(source), pool.shards, pool.lines, store, source)
