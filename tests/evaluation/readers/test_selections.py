"""evaluation/readers/selections.py: what mad select, and other tools, wrote."""

import json

import pytest

from evaluation.readers import selections
from labeling.files import BadInput


def test_what_other_tools_write_beside_the_rule_is_no_fault(tmp_path):
    meta = {
        "classifiers": ["a", "b"],
        "top_k": 3,
        "max_per_label": None,
        "wordnet": "3.0",
        "inputs": "pool.npy",
        "counts": [1],
    }
    line = {"pair": ["a", "b"], "rank": 1, "image": "1.png", "labels": ["cat", "dog"]}
    path = tmp_path / "selection.jsonl"
    path.write_text(f"{json.dumps({'meta': meta})}\n{json.dumps(line)}\n")

    ranked = selections.read_ranked(path)

    assert ranked.meta.to_json() == meta
    assert [image.image for image in ranked.images] == ["1.png"]


def test_a_pair_needs_two_names(tmp_path):
    meta = {"classifiers": ["a", "b"], "top_k": 3}
    line = {"pair": ["a", 7], "rank": 1, "image": "1.png", "labels": ["cat", "dog"]}
    path = tmp_path / "selection.jsonl"
    path.write_text(f"{json.dumps({'meta': meta})}\n{json.dumps(line)}\n")

    with pytest.raises(BadInput, match="line 2: pair needs two values, one for each classifier"):
        selections.read_ranked(path)
