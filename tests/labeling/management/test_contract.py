"""How every command ends: usage errors and Ctrl-C."""

import errno
import os
from functools import wraps

import pytest

from evaluation.management.named_files import named_files
from labeling.files import BadInput, atomic_write
from labeling.management.commands import merge
from tests.cases import for_each


def test_options_that_do_not_go_together_are_one_sentence_and_status_2(shell):
    status, out, err = shell("score", "wsol", "--metadata", "nowhere")

    assert (status, out) == (2, "")
    assert err == "give --scoremaps DIR or --baseline center-gaussian, one of them\n"


def test_what_is_stopped_by_hand_says_so_and_shows_no_traceback(shell, monkeypatch):
    @wraps(merge.Command.action)
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(merge.Command, "action", interrupted)

    status, out, err = shell("merge", "a.png", "b.png")

    assert (status, out, err) == (130, "", "stopped\n")


@pytest.mark.parametrize(
    ("error", "cause", "cure"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "no space left", "free some space"),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), "disk quota", "free some space"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "file too large", "ulimit -f"),
    ],
)
def test_a_file_without_room_is_named_with_cause_and_cure(
    shell, monkeypatch, tmp_path, error, cause, cure
):
    @wraps(merge.Command.action)
    def write(*_):
        with atomic_write(tmp_path / "out"):
            raise error

    monkeypatch.setattr(merge.Command, "action", write)

    status, out, err = shell("merge", "a.png", "b.png")

    assert (status, out) == (1, "")
    assert err.startswith(f"{tmp_path / 'out'}: {cause}")
    assert cure in err
    assert list(tmp_path.iterdir()) == []


def test_an_array_that_numpy_wrote_in_part_is_a_full_disk(shell, monkeypatch):
    @wraps(merge.Command.action)
    def write(*_):
        raise OSError("100000 requested and 3056 written")

    monkeypatch.setattr(merge.Command, "action", write)

    status, out, err = shell("merge", "a.png", "b.png")

    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("the disk is full")


ADDRESS = "s3://bucket/of/x"


@for_each(
    "words",
    [
        ("predict", ADDRESS, "--model", "m.pt", "--classes", "ilsvrc", "--out", "out"),
        ("predict", ".", "--model", "m.pt", "--classes", ADDRESS, "--out", "out"),
        ("predict", ".", "--model", "m.pt", "--classes", "ilsvrc", "--out", ADDRESS),
        ("mad", "select", "--predictions", ADDRESS, "--out", "out"),
        ("mad", "select", "--pool", "pool.jsonl", "--out", ADDRESS),
        ("mad", "pool", ADDRESS, "--shards", "2", "--out", "pool.jsonl"),
        ("mad", "merge", "part.npz", ADDRESS, "--out", "out"),
        ("mad", "rank", "--selection", "a", "--selection", ADDRESS, "--answers", "answers.jsonl"),
        (
            "classify",
            "release",
            "--images",
            ADDRESS,
            "--model",
            "m",
            "--classes",
            "c",
            "--out",
            "o",
        ),
        ("score", "classification", "--truth", ADDRESS, "--predictions", "a.csv"),
        ("aggregate", ADDRESS, "--out", "labels.csv"),
        ("backup", ADDRESS),
        ("restore", ADDRESS),
    ],
)
def test_an_address_in_place_of_a_path_is_refused_by_name(shell, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    refusal = shell.refusal(*words)

    assert (refusal["file"], refusal["error"]) == (ADDRESS, "is an address, expected a path")
    assert refusal["cure"].startswith("copy it to this machine")
    assert list(tmp_path.iterdir()) == []


def test_an_address_under_a_name_is_refused_too():
    with pytest.raises(BadInput, match=f"{ADDRESS}: is an address, expected a path"):
        named_files([f"a={ADDRESS}"])
