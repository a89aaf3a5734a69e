"""Names of a benchmark's classes: from its release, else from WordNet."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNetMissing, load
from evaluation.models import Benchmark
from labeling.files import BadInput
from labeling.release_files import frozen
from labeling.releases import freezing

Namer = Callable[[str], str]


def namer(row: Benchmark) -> Namer:
    """Return a function from a class (a wnid, or any id) to its name, or to the id if it
    has none.
    """
    release = row.release
    known = _names_in_release(freezing.folder_of(release), release.sha256) if release else {}
    return lambda key: known.get(key) or _by_wordnet(key)


@lru_cache(maxsize=16)
def _names_in_release(folder: Path, sha256: str) -> dict[str, str]:
    """Return the names in a release; empty if its files are missing."""
    try:
        categories = frozen.head(folder, sha256)["campaign"]["settings"].get("categories", {})
        with open(folder / "topics.jsonl", encoding="utf-8") as file:
            topics = [json.loads(line) for line in file]
    except (BadInput, OSError):
        return {}
    return {
        **{topic["key"]: topic["name"] for topic in topics},
        **{key: category["name"] for key, category in categories.items()},
    }


@lru_cache(maxsize=4096)
def _by_wordnet(key: str) -> str:
    try:
        net = load()
        return net.synset(net.index(key)).lemmas[0]
    except (UnknownLabel, WordNetMissing):
        return key
