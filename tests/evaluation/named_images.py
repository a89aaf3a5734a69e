"""Releases of naming campaigns in a folder, without a database."""

import json
from collections.abc import Mapping
from pathlib import Path

from labeling.release_files import frozen

# Of an image: what was settled, and how many people gave each answer.
Settled = tuple[str | None, Mapping[str, int]]


def release(
    folder: Path, answers: Mapping[str, Settled], vocabulary: tuple[str, ...], kind: str = "naming"
) -> Path:
    """A release of these answers, by image."""
    folder.mkdir()
    lines: dict[str, list[object]] = {
        "answers.jsonl": [
            {"image": image, "wnid": wnid, "votes": votes, "settled_by": {"policy": 1}}
            for image, (wnid, votes) in answers.items()
        ],
        "images.jsonl": [{"name": image} for image in answers],
        "topics.jsonl": [],
        "votes.jsonl": [],
    }
    files = {}
    for name, rows in lines.items():
        with frozen.LineFile(folder / name) as file:
            for row in rows:
                file.write(row)
            files[name] = file.close()
    settings = {"vocabulary": [{"key": key, "name": key} for key in vocabulary]}
    campaign = {"name": "names", "title": "Names", "kind": kind, "dataset": "pond"}
    head: dict[str, object] = {
        "format": frozen.FORMAT,
        "campaign": {**campaign, "instructions": "", "settings": settings},
        "counts": {"open": 0, "review": 0},
        "files": files,
        "number": 3,
    }
    head["sha256"] = frozen.digest(head)
    (folder / "release.json").write_text(json.dumps(head))
    return folder
