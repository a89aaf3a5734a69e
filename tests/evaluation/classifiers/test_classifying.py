"""Frames through a classifier: what is written, and how a stopped run goes on."""

import fcntl
import random
import struct
import zlib

import pytest
import torch

from evaluation.classifiers import classifying
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput
from tests.evaluation.classifiers.networks import CAT, CLASSES, COOT, DOG, Colours, frame
from tests.evaluation.commands import rows_of

SETTINGS = {"release": "abc", "model": {"model": "colours"}}


def colours(network=None, classes=CLASSES) -> Classifier:
    return Classifier(
        name="colours",
        classes=tuple(classes),
        preparation=FramePreparation(size=(4, 4)),
        device="cpu",
        source={},
        network=network or Colours(),
    )


def stream(count: int = 23, seed: int = 0):
    """Frames of many colours and sizes."""
    chance = random.Random(seed)
    for at in range(count):
        red, green, blue = (chance.randrange(256) for _ in range(3))
        yield f"a/{at:02}", frame(red, green, blue, chance.randint(2, 9), chance.randint(2, 9))


def test_the_likeliest_classes_stand_in_their_order_with_confidences(tmp_path):
    out = tmp_path / "predictions.csv"

    with classifying.opened(out, SETTINGS) as work:
        count = classifying.classify([("x/1", frame(0, 255, 51))], colours(), work)
        total = work.finish()

    # Logits 0, 4 and 0.8.
    chances = torch.tensor([0.0, 4.0, 0.8]).softmax(0).tolist()
    [row] = rows_of(out)
    assert (count, total) == (1, 1)
    assert list(row) == classifying.columns(3)
    assert [row["wnid"], row["wnid_2"], row["wnid_3"]] == [CAT, COOT, DOG]
    assert float(row["confidence"]) == pytest.approx(chances[1], rel=1e-5)
    assert float(row["confidence_3"]) == pytest.approx(chances[0], rel=1e-5)
    assert (row["frame"], row["classifier"]) == ("x/1", "colours")


def test_a_gpu_that_holds_fewer_at_once_names_the_same(tmp_path, caplog):
    def small(batch):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return Colours()(batch)

    for name, network in (("whole", None), ("halved", small)):
        with classifying.opened(tmp_path / name, SETTINGS) as work:
            classifying.classify(stream(), colours(network), work, batch=8)
            work.finish()

    assert (tmp_path / "halved").read_bytes() == (tmp_path / "whole").read_bytes()
    assert caplog.messages == ["the GPU ran out of memory; going on with 2 at once"]


def test_of_many_classes_five_are_kept_and_equal_ones_stand_in_the_order_of_the_classes(tmp_path):
    many = [f"n{at:08}" for at in range(40)]

    def network(batch):
        outputs = torch.zeros(len(batch), 40)
        outputs[:, [7, 30, 2]] = torch.tensor([1.0, 2.0, 1.0])
        return outputs

    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        classifying.classify([("x", frame(0, 0, 0))], colours(network, many), work)
        work.finish()

    [row] = rows_of(tmp_path / "p.csv")
    wnids = [row[name] for name in classifying.columns(5) if name.startswith("wnid")]
    assert wnids == [many[30], many[2], many[7], many[0], many[1]]


def test_frames_of_all_sequences_share_batches_and_none_is_held_longer_than_its_batch(tmp_path):
    sizes, reported, held = [], [], []

    def network(batch):
        sizes.append(len(batch))
        return Colours()(batch)

    def counted():
        for at, pair in enumerate(stream(23)):
            held.append(at - sum(sizes))
            yield pair

    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        classifying.classify(counted(), colours(network), work, batch=5, watch=reported.append)

    assert sizes == reported == [5, 5, 5, 5, 3]
    assert max(held) == 4


@pytest.mark.parametrize("stop", [1, 7, 10, 22])
def test_a_stopped_run_goes_on_and_ends_with_the_bytes_of_one_that_was_not(tmp_path, stop):
    whole, out = tmp_path / "whole.csv", tmp_path / "predictions.csv"
    with classifying.opened(whole, SETTINGS) as work:
        classifying.classify(stream(), colours(), work, batch=5)
        work.finish()
    seen = []

    def network(batch):
        seen.extend(batch)
        return Colours()(batch)

    def failing():
        for at, pair in enumerate(stream()):
            if at == stop:
                raise OSError("the disk went away")
            yield pair

    with pytest.raises(OSError, match="went away"), classifying.opened(out, SETTINGS) as work:
        classifying.classify(failing(), colours(network), work, batch=5)
    assert not out.exists()
    with classifying.opened(out, SETTINGS) as work:
        assert len(work.done) == stop // 5 * 5
        again = classifying.classify(stream(), colours(network), work, batch=5)
        total = work.finish()

    assert out.read_bytes() == whole.read_bytes()
    assert len(seen) == total == 23
    assert again == 23 - stop // 5 * 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predictions.csv", "whole.csv"]


def test_a_batch_that_was_half_written_is_done_again(tmp_path):
    out = tmp_path / "predictions.csv"
    with classifying.opened(out, SETTINGS) as work:
        classifying.classify(list(stream())[:10], colours(), work, batch=5)
    path = tmp_path / ".predictions.csv.work"
    path.write_bytes(path.read_bytes()[:-9])

    with classifying.opened(out, SETTINGS) as work:
        assert work.done == {f"a/{at:02}" for at in range(5)}
        classifying.classify(stream(), colours(), work, batch=5)
        assert work.finish() == 23

    assert [row["frame"] for row in rows_of(out)] == [name for name, _ in stream()]


def test_a_run_that_was_killed_before_it_said_its_settings_begins_again(tmp_path):
    (tmp_path / ".p.csv.work").write_bytes(b'{"settings"')

    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        classifying.classify(stream(3), colours(), work)
        assert work.finish() == 3


def test_other_settings_are_refused_by_name_and_restart_begins_again(tmp_path):
    out = tmp_path / "p.csv"
    with classifying.opened(out, SETTINGS) as work:
        classifying.classify(stream(3), colours(), work)
    before = (tmp_path / ".p.csv.work").read_bytes()

    with (
        pytest.raises(BadInput, match=r"begun with another model, size; .*--restart"),
        classifying.opened(out, SETTINGS | {"model": {"model": "other"}, "size": [1]}),
    ):
        pass
    assert (tmp_path / ".p.csv.work").read_bytes() == before
    with classifying.opened(out, {"release": "def"}, restart=True) as work:
        assert work.done == set()
        classifying.classify(stream(1), colours(), work)
        assert work.finish() == 1


def test_two_runs_do_not_write_one_file(tmp_path):
    with open(tmp_path / ".p.csv.work", "a+b") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        with (
            pytest.raises(BadInput, match="another run is at it"),
            classifying.opened(tmp_path / "p.csv", SETTINGS),
        ):
            pass


def test_a_file_that_is_no_work_of_ours_is_named(tmp_path):
    (tmp_path / ".p.csv.work").write_text("hello\n")

    with (
        pytest.raises(BadInput, match="not a work file; begin again with --restart"),
        classifying.opened(tmp_path / "p.csv", SETTINGS),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "message"), [("", "is a folder"), ("nowhere/p.csv", "folder does not exist")]
)
def test_a_goal_that_cannot_be_written_is_refused_before_anything_is_done(tmp_path, name, message):
    with pytest.raises(BadInput, match=message), classifying.opened(tmp_path / name, SETTINGS):
        pass


def test_nothing_to_classify_is_said_and_leaves_no_file(tmp_path):
    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        assert classifying.classify([], colours(), work) == 0
        with pytest.raises(BadInput, match="no frames"):
            work.finish()

    assert not (tmp_path / "p.csv").exists()


def test_a_network_that_gives_no_number_is_named_with_the_frame(tmp_path):
    def network(batch):
        return Colours()(batch) / torch.tensor([[1.0], [0.0]])

    with (
        pytest.raises(BadInput, match="colours gives no number for the frame a/01"),
        classifying.opened(tmp_path / "p.csv", SETTINGS) as work,
    ):
        classifying.classify(stream(2), colours(network), work)


def test_an_id_with_a_comma_a_quote_or_a_line_break_comes_back_as_it_was(tmp_path):
    names = ['a,b/"1"', "two\nlines/01"]

    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        classifying.classify([(names[0], frame(1, 2, 3))], colours(), work)
    with classifying.opened(tmp_path / "p.csv", SETTINGS) as work:
        classifying.classify([(name, frame(1, 2, 3)) for name in names], colours(), work)
        work.finish()

    assert [row["frame"] for row in rows_of(tmp_path / "p.csv")] == names


def png_head(head: bytes) -> bytes:
    """The beginning of a PNG file, its header with the right checksum."""
    chunk = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(head))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )


NO_IMAGES = {
    "empty": b"",
    "text": b"hello",
    "a program": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n",
    "a broken header": png_head(b"\0"),
    "too large": png_head(struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)),
}


@pytest.mark.parametrize("content", NO_IMAGES)
def test_a_frame_that_is_no_image_is_named_with_the_cure(tmp_path, content):
    (tmp_path / "01.png").write_bytes(NO_IMAGES[content])

    with pytest.raises(BadInput) as bad:
        list(classifying.read_frames([("a/01", tmp_path / "01.png")]))

    assert str(bad.value).startswith(f"{tmp_path / '01.png'}: the frame cannot be read; remove it")
