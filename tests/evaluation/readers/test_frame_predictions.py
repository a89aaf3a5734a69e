"""predictions.csv: what is read, joined and refused."""

import numpy as np
import pytest

from evaluation.readers.frame_predictions import (
    NOT_ASKED,
    NOTHING,
    FramePredictions,
    frame_places,
    read_predictions,
)
from labeling.files import BadInput
from tests.evaluation.cds import predicted

LINES = predicted.lines(objects=1, frames=2)[:2]
FRAMES = [frame for line in LINES for frame in line.frames]


def read(folder, *rows: str, header: str = "frame,classifier,wnid") -> FramePredictions:
    path = folder / "p.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return read_predictions(path, LINES)


def everything(classifier: str = "net", wnid: str = predicted.DOG) -> list[str]:
    return [f"{frame},{classifier},{wnid}" for frame in FRAMES]


def test_every_frame_of_every_classifier_is_read_in_any_order(tmp_path):
    rows = [*everything(), *reversed(everything("other", ""))]
    rows[1] = f"{FRAMES[1]},net,{predicted.CAT}"

    predictions = read(tmp_path, *rows)

    assert predictions.classifiers == ("net", "other")
    assert predictions.classes == (predicted.DOG, predicted.CAT)
    assert predictions.wnids["net"].tolist() == [0, 1, 0, 0]
    assert predictions.wnids["other"].tolist() == [NOTHING] * 4
    assert predictions.wnids["net"].dtype == np.int32
    assert list(predictions.frames) == FRAMES
    assert predictions.origin(1) == (str(tmp_path / "p.csv"), 3)


def test_further_columns_may_stand_anywhere_and_are_passed_over(tmp_path):
    rows = [f"0.5,{row},x" for row in everything()]

    predictions = read(tmp_path, *rows, header="confidence,frame,classifier,wnid,wnid_2")

    assert predictions.wnids["net"].tolist() == [0] * 4


def test_a_column_that_is_read_may_not_come_twice_but_others_may(tmp_path):
    rows = [f"{row},1,2" for row in everything()]

    assert len(read(tmp_path, *rows, header="frame,classifier,wnid,note,note").wnids["net"]) == 4
    with pytest.raises(BadInput, match="'wnid' occurs twice"):
        read(tmp_path, *rows, header="frame,classifier,wnid,wnid,note")


BAD = {
    "a frame twice": ([*everything(), everything()[0]], 6, "is repeated for 'net'"),
    "a frame of no sequence": ([*everything(), "nowhere,net,n02084071"], 6, "'nowhere'"),
    "no classifier": ([f"{FRAMES[0]},,n02084071"], 2, "the classifier is empty"),
    "no rows": ([], None, "no predictions"),
    "a row too short": ([f"{FRAMES[0]},net"], 2, "2 cells"),
    "missing frames": (everything()[1:], None, f"'net' lacks 1 of 4 frames: '{FRAMES[0]}'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_its_line(tmp_path, name):
    rows, line, message = BAD[name]

    with pytest.raises(BadInput) as refused:
        read(tmp_path, *rows)

    assert (refused.value.file, refused.value.line) == (str(tmp_path / "p.csv"), line)
    assert message in refused.value.message
    assert refused.value.cure


def test_the_first_five_missing_frames_are_named(tmp_path):
    lines = predicted.lines(objects=1, frames=8)[:1]
    (tmp_path / "p.csv").write_text(f"frame,classifier,wnid\n{lines[0].frames[7]},net,\n")

    with pytest.raises(BadInput) as refused:
        read_predictions(tmp_path / "p.csv", lines)

    quoted = ", ".join(repr(frame) for frame in lines[0].frames[:5])
    assert refused.value.message == f"'net' lacks 7 of 8 frames: {quoted}, …"


def test_a_missing_column_is_refused(tmp_path):
    with pytest.raises(BadInput, match="column 'wnid' is missing"):
        read(tmp_path, "a,b", header="frame,classifier")


def test_two_files_are_joined_with_their_classes_and_where_they_came(tmp_path):
    first = read(tmp_path, *everything(wnid=predicted.CAT))
    rows = everything("other", predicted.DOG)
    rows[2] = f"{FRAMES[2]},other,{predicted.CAT}"
    rows[3] = f"{FRAMES[3]},other,"
    second = read(tmp_path, *rows)
    second.wnids["other"][1] = NOT_ASKED

    both = first.joined(second)

    assert both.classifiers == ("net", "other")
    assert both.classes == (predicted.CAT, predicted.DOG)
    assert both.wnids["net"].tolist() == [0] * 4
    assert both.wnids["other"].tolist() == [1, NOT_ASKED, 0, NOTHING]
    assert [both.origin(i)[1] for i in range(2)] == [2, 2]


def test_joining_what_came_from_no_file_knows_no_place():
    frames = frame_places(LINES)
    answers = {"people": np.zeros(4, np.int32)}
    people = FramePredictions(("people",), answers, (predicted.DOG,), frames)
    second = FramePredictions(("net",), {"net": np.zeros(4, np.int32)}, (predicted.CAT,), frames)

    both = people.joined(second)

    assert both.origin(0) == both.origin(1) == (None, None)
    assert both.wnids["net"].tolist() == [1] * 4


def test_a_classifier_in_two_files_is_refused(tmp_path):
    first = read(tmp_path, *everything())

    with pytest.raises(BadInput, match="'net' is in two files"):
        first.joined(first)


def test_predictions_of_other_sequences_are_not_joined(tmp_path):
    first = read(tmp_path, *everything())
    second = FramePredictions(("x",), {"x": np.zeros(1, np.int32)}, (predicted.DOG,), {"f": 0})

    with pytest.raises(ValueError, match="other sequences"):
        first.joined(second)
