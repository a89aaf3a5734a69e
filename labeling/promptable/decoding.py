"""A program that decodes prompts until its stdin ends.

`python -m labeling.promptable.decoding DECODER PREPARATION MEMORY SECONDS`.

A request is a line of JSON on stdin, {"embedding": path, "size": [w, h], "prompts": …}; its reply
is a line on stdout, {"polygons", "score"} or {"refused": sentence}. MEMORY: limit of writable
bytes. SECONDS: limit of processor time. See workers.py.
"""

import json
import math
import os
import resource
import sys
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeling.promptable.network import Floats

KEPT_EMBEDDINGS = 4


def main(decoder: str, preparation: str, memory: str, seconds: str) -> None:
    # Libraries print to stderr; stdout carries only replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _limit(int(memory), int(seconds))
    from labeling.files import BadInput
    from labeling.promptable.network import Decoder, EncoderPreparation

    try:
        network = Decoder(Path(decoder), threads=1)
        prepared = EncoderPreparation.of(json.loads(preparation))
    except BadInput as refusal:
        _reply(replies, {"broken": str(refusal)})
        return
    _reply(replies, {"ready": True})
    embeddings: OrderedDict[str, Any] = OrderedDict()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            _reply(replies, _decoded(network, prepared, embeddings, request))
        except BadInput as refusal:
            _reply(replies, {"refused": refusal.message})


def _decoded(
    network: Any, prepared: Any, embeddings: OrderedDict[str, Any], request: Mapping[str, Any]
) -> dict[str, object]:
    from labeling.geometry.polygons import as_json
    from labeling.promptable import prompts
    from labeling.promptable.outlines import outline_of

    width, height = request["size"]
    shown_prompts = prompts.clean(request["prompts"], width, height)
    embedding = _embedding(embeddings, request["embedding"])
    mask, score = network.decode(embedding, shown_prompts, (width, height), prepared)
    outline = outline_of(mask, (width, height), shown_prompts.points_on_part())
    return {"polygons": as_json(outline), "score": score if math.isfinite(score) else None}


def _embedding(kept: OrderedDict[str, Any], path: str) -> "Floats":
    """Return the array of a file; the latest are cached for the next clicks."""
    import numpy as np

    if path not in kept:
        kept[path] = np.load(path, allow_pickle=False)
        while len(kept) > KEPT_EMBEDDINGS:
            kept.popitem(last=False)
    kept.move_to_end(path)
    embedding: Floats = kept[path]
    return embedding


def _reply(replies: IO[str], content: dict[str, object]) -> None:
    replies.write(json.dumps(content) + "\n")
    replies.flush()


def _limit(memory: int, seconds: int) -> None:
    for kind, bound in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        # It writes no files.
        (resource.RLIMIT_FSIZE, 0),
    ):
        most = resource.getrlimit(kind)[1]
        bound = bound if most == resource.RLIM_INFINITY else min(bound, most)
        resource.setrlimit(kind, (bound, most))


if __name__ == "__main__":
    main(*sys.argv[1:])
