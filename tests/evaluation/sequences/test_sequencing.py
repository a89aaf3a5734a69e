"""From a release to lines and frames: ids, invariants end to end, and what is refused."""

import io
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.sequences import sequencing
from evaluation.sequences.objects import LeftOutObjects, drawn_objects
from evaluation.sequences.part_orders import random_orders
from evaluation.sequences.sequencing import frame_ids, frames_of, lines_of, render
from labeling.files import BadInput
from labeling.parts.model import Part
from tests.evaluation.cds import scenes
from tests.evaluation.cds.scenes import CAT, COW, WIDTH

ORDER = {"head-first": {CAT: ("head", "torso", "tail", "leg")}}
NAMES = ("a/1.png", "b.png")


@pytest.fixture
def frozen(tmp_path):
    parted_objects = {"a/1.png": [scenes.cat("a/1.png"), scenes.cat("a/1.png", "cat-2")]}
    return scenes.release(tmp_path / "release", parted_objects | {"b.png": [scenes.cat("b.png")]})


def test_a_line_for_each_object_part_scheme_and_content_scheme(frozen):
    lines = list(lines_of(frozen, ORDER | random_orders({CAT: ("head", "tail")}, 1)))

    assert len(lines) == 3 * 2 * 4
    assert [line.content_scheme for line in lines[:4]] == list(CONTENT_SCHEMES)
    prefix = "a/1.png/cat-1/head-first/intra-object"
    assert lines[0].frames == tuple(f"{prefix}/{n}" for n in ("01", "02", "02", "04", "05"))
    assert (lines[0].category, lines[0].present, lines[0].parts) == (CAT, 3, 4)


def test_every_frame_comes_once_in_the_order_of_the_lines(frozen):
    photographs = scenes.Photographs(NAMES)

    frame_names = [name for name, _ in frames_of(frozen, ORDER, CONTENT_SCHEMES, photographs)]

    lines = lines_of(frozen, ORDER)
    assert frame_names == list(dict.fromkeys(name for line in lines for name in line.frames))


def test_the_last_frame_is_the_crop_of_the_photograph(frozen):
    photographs = scenes.Photographs(NAMES)

    frames = dict(frames_of(frozen, ORDER, ["intra-object", "low"], photographs))

    whole = photographs.pixels["b.png"]
    prefix = "b.png/cat-1/head-first"
    assert np.array_equal(frames[f"{prefix}/intra-object/05"].numpy(), whole[12:54, 15:64])
    assert np.array_equal(frames[f"{prefix}/low/05"].numpy(), whole[8:58, 11:69])


def rendered(frozen, photographs, contents=CONTENT_SCHEMES, orders=ORDER, **how):
    """Frame id → (H, W, 3) array."""
    return {name: f.numpy() for name, f in frames_of(frozen, orders, contents, photographs, **how)}


def of_object(frozen, image="b.png"):
    return next(
        image_objects[0] for photo, image_objects in drawn_objects(frozen) if photo.name == image
    )


@pytest.mark.parametrize("content", CONTENT_SCHEMES)
def test_revealed_parts_are_the_photographs_own_pixels(frozen, content):
    photographs = scenes.Photographs(NAMES)
    drawn_object = of_object(frozen)
    x0, y0, x1, y1 = crop = drawn_object.crop(content)
    masks, whole = drawn_object.masks(crop), photographs.pixels["b.png"][y0:y1, x0:x1]

    frames = rendered(frozen, photographs, [content])

    revealed = np.zeros(whole.shape[:2], bool)
    for number, part in ((1, "head"), (2, "torso"), (4, "leg")):
        revealed |= masks[part]
        frame = frames[f"b.png/cat-1/head-first/{content}/{number:02}"]
        assert np.array_equal(frame[revealed], whole[revealed])
        assert not np.array_equal(frame, whole)
    assert np.array_equal(frames[f"b.png/cat-1/head-first/{content}/05"], whole)


def moved(thing, along):
    """The object with every x replaced; box and all."""
    parts = tuple(
        replace(
            part,
            polygons=tuple(
                tuple(tuple((along(x), y + 0.037) for x, y in ring) for ring in piece)
                for piece in part.polygons
            ),
        )
        for part in thing.parts
    )
    x0, y0, x1, y1 = thing.box
    left, right = sorted((along(x0), along(x1)))
    return replace(thing, parts=parts, box=(left, y0, right, y1))


def test_flips_commute_but_for_rounding(tmp_path):
    photographs = scenes.Photographs(["b.png"])
    flipped = scenes.Photographs(["b.png"])
    flipped.pixels["b.png"] = np.ascontiguousarray(photographs.pixels["b.png"][:, ::-1])
    # Off the tenths: a pixel's centre on the very edge would belong to the right side both times.
    drawn_object = moved(scenes.cat("b.png"), lambda x: x + 0.037)
    mirrored = moved(scenes.cat("b.png"), lambda x: WIDTH - x - 0.037)

    ours = rendered(scenes.release(tmp_path / "one", {"b.png": [drawn_object]}), photographs)
    theirs = rendered(scenes.release(tmp_path / "other", {"b.png": [mirrored]}), flipped)

    assert ours.keys() == theirs.keys()
    for name, frame in ours.items():
        off = np.abs(frame.astype(int) - theirs[name][:, ::-1].astype(int))
        assert off.max() <= 1, name


@pytest.mark.parametrize("threads", [1, 3])
def test_many_objects_at_once_give_what_each_gives_alone(frozen, threads):
    photographs = scenes.Photographs(NAMES)
    orders = ORDER | {"other": {CAT: ("tail", "leg", "torso", "head")}}

    together = rendered(frozen, photographs, orders=orders, include_empty=True, threads=threads)

    for photo, image_objects in drawn_objects(frozen):
        for drawn_object in image_objects:
            for line in lines_of(frozen, orders, include_empty=True):
                if (line.image, line.object) != (photo.name, drawn_object.thing.name):
                    continue
                order = orders[line.part_scheme][CAT]
                alone = render(
                    drawn_object.thing, photo, line, order, photographs, include_empty=True
                )
                assert [name for name, _ in alone] == list(dict.fromkeys(line.frames))
                assert all(np.array_equal(frame, together[name]) for name, frame in alone)


def test_a_photograph_is_opened_once_in_the_readers_thread(frozen):
    photographs = scenes.Photographs(NAMES)
    threads = set()

    def opening(name):
        threads.add(threading.current_thread())
        return photographs(name)

    rendered(frozen, opening, orders=random_orders(scenes.VOCABULARY, 1) | ORDER)

    assert photographs.opened == ["a/1.png", "b.png"]
    assert threads == {threading.current_thread()}


def test_frames_that_are_not_wanted_cost_nothing(frozen):
    photographs = scenes.Photographs(NAMES)
    frame_name = "b.png/cat-1/head-first/low/02"

    frames = rendered(frozen, photographs, is_wanted=lambda name: name == frame_name)

    assert list(frames) == [frame_name]
    assert photographs.opened == ["b.png"]


def test_frames_are_made_a_few_ahead_of_the_reader(tmp_path):
    names = [f"{n:02}.png" for n in range(30)]
    frozen = scenes.release(tmp_path / "many", {name: [scenes.cat(name)] for name in names})
    photographs = scenes.Photographs(names)

    stream = frames_of(frozen, ORDER, ["intra-object"], photographs)
    next(stream)
    opened = len(photographs.opened)
    stream.close()

    # What is rendered, what is made ready for it, and the one that is being read.
    assert opened <= sequencing.AHEAD + 3
    assert photographs.opened == names[:opened]


def test_large_frames_wait_one_sequence_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sequencing, "AHEAD_BYTES", 1)
    names = [f"{n}.png" for n in range(9)]
    frozen = scenes.release(tmp_path / "many", {name: [scenes.cat(name)] for name in names})
    photographs = scenes.Photographs(names)

    stream = frames_of(frozen, ORDER, ["intra-object"], photographs)
    next(stream)
    assert len(photographs.opened) <= 3
    assert len(list(stream)) == 9 * 4 - 1


def test_torch_has_as_many_threads_as_before(frozen):
    before = torch.get_num_threads()

    rendered(frozen, scenes.Photographs(NAMES), ["low"])

    held = []
    late = threading.Thread(target=lambda: held.append(torch.get_num_threads()))
    late.start()
    late.join()
    assert [torch.get_num_threads(), *held] == [before, before]


def test_a_first_part_that_is_missing_shows_no_part_unless_the_empty_frame_does():
    order, present = ["tail", "horn", "head"], {"head"}

    assert frame_ids("a", order, present) == ("a/01", "a/01", "a/03", "a/04")
    assert frame_ids("a", order, present, True) == ("a/01", "a/01", "a/01", "a/04", "a/05")
    assert frame_ids("a", ["p"] * 120, {"p"})[99] == "a/100"


def test_objects_without_parts_are_told_and_have_no_line(tmp_path):
    parted_objects = [scenes.cow("c.png", parts=()), scenes.cow("c.png", "cow-2")]
    frozen = scenes.release(tmp_path / "cows", {"c.png": parted_objects})
    left_out = LeftOutObjects()

    lines = list(lines_of(frozen, random_orders(scenes.VOCABULARY, 1), left_out=left_out))

    assert {line.object for line in lines} == {"cow-2"}
    assert (left_out.count, left_out.first) == (1, ["c.png/cow-1"])


def test_a_scheme_that_lacks_a_category_is_named(tmp_path):
    frozen = scenes.release(tmp_path / "cows", {"c.png": [scenes.cow("c.png")]})

    with pytest.raises(BadInput, match=f"head-first orders no parts of {COW}, of which cow-1 in c"):
        list(lines_of(frozen, ORDER))


def test_a_photograph_that_does_not_fit_is_named(frozen):
    def missing(name):
        raise FileNotFoundError(name)

    messages = {
        missing: "the photograph is missing",
        (lambda name: io.BytesIO(b"none")): "cannot be read: It is not a JPEG",
        (lambda name: io.BytesIO(scenes.png(scenes.photograph(1, 64, 90)))): "64 × 90 pixels",
    }
    for opening, words in messages.items():
        with pytest.raises(BadInput, match=words) as refused:
            rendered(frozen, opening, ["intra-object"])
        assert refused.value.file == "a/1.png"


def test_a_part_without_a_pixel_anywhere_is_named(tmp_path):
    thin = Part("head", scenes.ellipse(30, 30, 0.2, 0.2))
    frozen = scenes.release(tmp_path / "thin", {"t.png": [scenes.cat("t.png", parts=(thin,))]})

    with pytest.raises(BadInput, match=r"cat-1 in t\.png: the object has no part with a pixel"):
        rendered(frozen, scenes.Photographs(["t.png"]), ["low"])


@pytest.mark.gpu
def test_a_gpu_renders_the_same_but_for_rounding(frozen):
    photographs = scenes.Photographs(NAMES)

    ours = rendered(frozen, photographs)
    for name, frame in frames_of(frozen, ORDER, CONTENT_SCHEMES, photographs, device="cuda"):
        assert np.abs(frame.cpu().numpy().astype(int) - ours[name]).max() <= 1
