"""sequences.jsonl: what is read, and what is refused with its line."""

import pytest

from evaluation.readers.sequences import SequenceLine, read_sequences
from labeling.files import BadInput
from tests.evaluation.cds import predicted

ROW = {
    "image": "a.jpg",
    "category": "dog.n.01",
    "part_scheme": "E_U",
    "content_scheme": "low",
    "frames": ["a1", "a2"],
}


def test_lines_come_back_as_they_were_written_in_their_order(tmp_path):
    lines = predicted.lines()

    lines_read = read_sequences(predicted.write_sequences(tmp_path / "s.jsonl", lines))

    assert lines_read == lines
    assert [line.line for line in lines_read] == list(range(1, len(lines) + 1))


def test_what_nobody_says_is_left_open_and_other_keys_are_passed_over(tmp_path):
    path = predicted.write_sequences(tmp_path / "s.jsonl", [ROW | {"colour": "red"}])

    (lines_read,) = read_sequences(path)

    assert lines_read == SequenceLine("a.jpg", "dog.n.01", "E_U", "low", ("a1", "a2"))
    assert (lines_read.object, lines_read.present, lines_read.parts) == ("", None, None)
    assert lines_read.as_dict() == ROW


def test_a_frame_may_come_again_in_its_own_sequence(tmp_path):
    path = predicted.write_sequences(tmp_path / "s.jsonl", [ROW | {"frames": ["a", "a", "b"]}])

    assert read_sequences(path)[0].frames == ("a", "a", "b")


def test_objects_of_two_categories_in_one_image_need_no_names(tmp_path):
    rows = [ROW, ROW | {"category": "cat.n.01", "frames": ["c"]}]

    assert len(read_sequences(predicted.write_sequences(tmp_path / "s.jsonl", rows))) == 2


BAD = {
    "an empty image": ([{"image": ""}], 1, "image"),
    "a number for a category": ([{"category": 3}], 1, "category"),
    "no part scheme": ([{"part_scheme": None}], 1, "part_scheme"),
    "no list of frames": ([{"frames": "a1"}], 1, "list of frame ids"),
    "a frame that is a number": ([{"frames": ["a", 2]}], 1, "list of frame ids"),
    "no frames": ([{"frames": []}], 1, "no frames"),
    "a number for an object": ([{"object": 1}], 1, "object"),
    "present without parts": ([{"present": 1}], 1, "present"),
    "more parts than there are": ([{"present": 3, "parts": 2}], 1, "present"),
    "no parts at all": ([{"present": 0, "parts": 0}], 1, "present"),
    "true for a count": ([{"present": True, "parts": 2}], 1, "present"),
    "a sequence twice": ([{}, {"frames": ["x"]}], 2, "line 1 again"),
    "a frame of another sequence": (
        [{}, {"part_scheme": "random", "frames": ["b", "a2"]}],
        2,
        "'a2' is of the sequence in line 1",
    ),
    "an object of two categories": (
        [{"object": "o"}, {"object": "o", "category": "cat.n.01", "frames": ["c"]}],
        2,
        "'cat.n.01', in line 1 it is a 'dog.n.01'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_its_line(tmp_path, name):
    changes, line, message = BAD[name]
    path = predicted.write_sequences(tmp_path / "s.jsonl", [ROW | change for change in changes])

    with pytest.raises(BadInput) as refused:
        read_sequences(path)

    assert (refused.value.file, refused.value.line) == (str(path), line)
    assert message in refused.value.message
    assert refused.value.cure


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "s.jsonl").write_text("\n")

    with pytest.raises(BadInput, match="there are no sequences"):
        read_sequences(tmp_path / "s.jsonl")


def test_half_a_character_is_refused_as_nothing_could_print_it(tmp_path):
    for key in ["image", "category", "part_scheme", "content_scheme", "object"]:
        path = predicted.write_sequences(tmp_path / "s.jsonl", [ROW, ROW | {key: "a\ud800"}])

        with pytest.raises(BadInput, match=r"line 2: is not JSON \(\\ud800 is half a character\)"):
            read_sequences(path)


def test_a_whole_character_may_be_written_as_two_halves(tmp_path):
    path = predicted.write_sequences(tmp_path / "s.jsonl", [ROW | {"image": "\N{CAT FACE}.jpg"}])

    assert b"\\ud83d" in path.read_bytes()
    assert read_sequences(path)[0].image == "\N{CAT FACE}.jpg"
