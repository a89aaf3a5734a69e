"""Blurred and blacked-out frames: plain twins, invariants, and the law of gratings."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import ndimage

from evaluation.devices import BatchSize
from evaluation.metrics.frames import foveation, part_distances
from evaluation.metrics.frames.foveation import (
    BLURS,
    CONTENT_SCHEMES,
    HIGHER,
    LOW,
    Blur,
    SharedCrop,
    frames,
    positions,
    resolution,
)
from evaluation.metrics.frames.part_distances import PartDistances, disk_reach
from evaluation.metrics.frames.pyramid import (
    _along,
    _along_exactly,
    _taps,
    codes,
    linear,
    pyramid,
    sigma_of,
)
from evaluation.metrics.frames.sequences import PartSequence, PartsError, sequence
from tests.evaluation.metrics.torch_guard import Guard

CPU = torch.device("cpu")
OURS = [name for name in CONTENT_SCHEMES if name in BLURS]


def scene(seed=0, height=61, width=84, parts=4):
    """An image of smooth noise, and the masks of ellipses in it."""
    rng = np.random.default_rng(seed)
    noise = ndimage.gaussian_filter(rng.random((height, width, 3)), (1, 1, 0))
    image = (np.ptp(noise) ** -1 * (noise - noise.min()) * 255).astype(np.uint8)
    y, x = np.mgrid[:height, :width]
    masks = {}
    for number in range(parts):
        middle = rng.uniform((0, 0), (height, width))
        extent = rng.uniform((2, 2), (height / 4, width / 4))
        held = ((y - middle[0]) / extent[0]) ** 2 + ((x - middle[1]) / extent[1]) ** 2 < 1
        held[int(middle[0]), int(middle[1])] = True
        masks[f"part {number}"] = held
    return image, masks


def sequence_of(masks, **settings):
    return sequence(list(masks), masks, **settings)


def made(image, sequence_of_parts, content, **settings):
    return [
        frame_tensor.numpy()
        for frame_tensor in frames(image, sequence_of_parts, content, **settings)
    ]


def disk(radius):
    along = np.arange(-radius, radius + 1) ** 2
    return np.add.outer(along, along) <= radius**2


def plain_blur(image, mask, blur):
    """One frame the slow way: every level in full, in float64, blended pixel by pixel."""
    v = image / 255
    light = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    grown = ndimage.binary_dilation(mask, disk(blur.dilation_px))
    d = ndimage.distance_transform_edt(~grown) * blur.map_width / image.shape[1]
    r = blur.half / (blur.half + d**blur.power)
    levels = [light]
    for i in range(1, math.ceil(math.log2(1 / r.min())) + 2):
        sigma = sigma_of(i)
        levels.append(ndimage.gaussian_filter(light, (sigma, sigma, 0), truncate=6))
    i = np.floor(-np.log2(r)).astype(int)
    fine, coarse = (np.exp(-math.log(2) * (r * 2.0**n) ** 2) for n in (i, i + 1))
    w = ((0.5 - coarse) / (fine - coarse))[..., None]
    stack = np.stack(levels)
    rows, columns = np.indices(mask.shape)
    mixed = w * stack[i, rows, columns] + (1 - w) * stack[i + 1, rows, columns]
    s = np.where(mixed <= 0.0031308, 12.92 * mixed, 1.055 * mixed ** (1 / 2.4) - 0.055)
    return np.where(mask[..., None], image, np.rint(255 * s)).astype(np.uint8)


def apart(a, b):
    return np.abs(a.astype(int) - b.astype(int))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("radius", [0, 1, 4])
def test_distances_are_those_of_the_dilated_part(compiled, radius, monkeypatch):
    # Small chunks, so that there are several.
    monkeypatch.setattr(part_distances, "_MAX_IN_MEMORY", 2000)
    for seed, (height, width) in enumerate([(30, 41), (1, 9), (9, 1), (1, 1), (25, 3)]):
        rng = np.random.default_rng(seed)
        steps = rng.choice(np.arange(3, dtype=np.int16), (height, width), p=[0.01, 0.04, 0.95])
        steps[height // 2, 0] = 1

        measured = PartDistances(steps, 3, radius, CPU, compiled)

        for step in np.unique(steps):
            grown = ndimage.binary_dilation(steps == step, disk(radius))
            expected = np.rint(ndimage.distance_transform_edt(~grown) ** 2)
            if grown.all():
                expected = np.zeros((height, width))
            np.testing.assert_array_equal(measured.of(step).numpy(), expected)


def test_the_disk_of_four_pixels_reaches_as_far_as_its_circle():
    rows = {abs(x): h for x in range(-4, 5) for h in [disk(4)[:, x + 4].sum() // 2]}

    assert disk_reach(4).tolist() == [rows[x] for x in range(5)]


@pytest.mark.parametrize("content", OURS)
def test_frames_are_those_of_a_plain_pyramid_for_each(content):
    image, masks = scene(1)
    sequence_of_parts = sequence_of(masks)

    painted = made(image, sequence_of_parts, content)

    for frame in range(len(sequence_of_parts) - 1):
        off = apart(
            painted[frame], plain_blur(image, sequence_of_parts.revealed(frame), BLURS[content])
        )
        # Coarse levels are drawn up from a quarter of their width.
        assert off.max() <= 3
        assert off.mean() < 0.1


@pytest.mark.parametrize("content", CONTENT_SCHEMES)
def test_revealed_pixels_are_the_images_and_the_last_frame_is_the_image(content):
    for seed in range(3):
        image, masks = scene(seed)
        sequence_of_parts = sequence_of(masks, include_empty=seed == 1)

        painted = made(image, sequence_of_parts, content, box=(10, 10, 60, 50))

        assert len(painted) == len(sequence_of_parts)
        for frame, pixels in enumerate(painted):
            inside = sequence_of_parts.revealed(frame)
            np.testing.assert_array_equal(pixels[inside], image[inside])
        np.testing.assert_array_equal(painted[-1], image)


@pytest.mark.parametrize("content", OURS)
def test_a_full_mask_changes_nothing(content):
    image, _ = scene(2)

    painted = made(image, sequence(["all"], {"all": np.ones(image.shape[:2])}), content)

    for pixels in painted:
        np.testing.assert_array_equal(pixels, image)


@pytest.mark.parametrize(("content", "sigma"), [("low", 10), ("higher", 5)])
def test_a_frame_without_parts_is_a_gaussian_in_linear_light(content, sigma):
    image, masks = scene(3)

    first = made(image, sequence_of(masks, include_empty=True), content)[0]

    light = linear(torch.from_numpy(image)).double().numpy()
    expected = ndimage.gaussian_filter(light, (sigma, sigma, 0), truncate=6, mode="reflect")
    assert apart(first, codes(torch.from_numpy(expected.astype(np.float32))).numpy()).max() <= 1


@pytest.mark.parametrize("content", OURS)
def test_more_parts_never_lower_resolution_anywhere(content):
    blur = BLURS[content]
    _, masks = scene(4, parts=6)
    sequence_of_parts = sequence_of(masks)
    measured = PartDistances(
        sequence_of_parts.steps, len(sequence_of_parts), blur.dilation_px, CPU, True
    )
    width = sequence_of_parts.steps.shape[1]
    nearest = [measured.of(step) for step in np.flatnonzero(sequence_of_parts.added[:-1]).tolist()]
    nearest = torch.stack(nearest).cummin(0).values

    maps = resolution(nearest, width, blur)

    for before, after in pairwise(maps):
        assert (after >= before).all()
    # Of every distance there is, the nearer one is never taken from a coarser level.
    table = resolution(torch.arange(400_000), 500, blur)
    assert (table[1:] <= table[:-1]).all()


@pytest.mark.parametrize("content", ["intra-object", *OURS])
def test_flips_commute_but_for_rounding(content):
    for height, width in [(61, 84), (40, 33)]:
        image, masks = scene(5, height, width)
        sequence_of_parts = sequence_of(masks, include_empty=True)
        painted = made(image, sequence_of_parts, content)
        for axis in (0, 1):
            flipped = PartSequence(
                np.flip(sequence_of_parts.steps, axis),
                sequence_of_parts.names,
                sequence_of_parts.present,
            )

            again = made(np.flip(image, axis), flipped, content)

            for first_frame, second_frame in zip(painted, again, strict=True):
                off = apart(np.flip(first_frame, axis), second_frame)
                assert off.max() <= 1
                assert (off > 0).mean() < 1e-3


@pytest.mark.parametrize("content", OURS)
def test_every_batch_gives_the_same_bits_compiled_or_not(content):
    image, masks = scene(6, parts=7)
    masks["part 2"] = masks["part 1"]
    sequence_of_parts = sequence_of(masks, include_empty=True)

    compiled = made(image, sequence_of_parts, content)

    for batch in (1, 3, 100):
        plain = made(image, sequence_of_parts, content, compiled=False, batch=BatchSize(batch))
        for first_frame, second_frame in zip(compiled, plain, strict=True):
            assert apart(first_frame, second_frame).max() <= 1
            assert (first_frame != second_frame).mean() < 1e-3
        if batch == 1:
            single = plain
        np.testing.assert_array_equal(np.stack(plain), np.stack(single))


@pytest.mark.parametrize("content", CONTENT_SCHEMES)
def test_every_tensor_is_on_the_device_and_no_frame_waits_for_it(content):
    waits = []
    for parts in (2, 12):
        image, masks = scene(7, parts=parts)
        sequence_of_parts = sequence_of(masks)
        for way in (frames, SharedCrop(image, masks, compiled=False).frames):
            arguments = () if way is not frames else (image,)
            with Guard(exact=False) as guard, torch.device("meta"):
                some = way(
                    *arguments, sequence_of_parts, content, box=(5, 5, 50, 50), **settings_of(way)
                )
                assert len(list(some)) == parts + 1
            waits.append(guard.waits.total())

    # Asked once for an object: how far its pixels lie from its parts, and how many levels that is.
    assert max(waits) <= 2 * (content in BLURS)


def settings_of(way):
    return {"compiled": False} if way is frames else {}


def test_convolutions_are_the_same_by_full_products():
    light = torch.rand((40, 50, 3), generator=torch.Generator().manual_seed(0))

    for sigma in (0.5, 1.3):
        for axis in (0, 1):
            taps = _taps(sigma, CPU)
            torch.testing.assert_close(
                _along_exactly(light, taps, axis), _along(light, taps, axis), rtol=0, atol=1e-6
            )


@pytest.mark.parametrize("content", OURS)
def test_frames_stay_the_same_where_memory_holds_fewer_at_once(content, monkeypatch):
    image, masks = scene(6, parts=7)
    sequence_of_parts = sequence_of(masks)
    batch = BatchSize(5, "frame", tell=lambda _: None)
    expected = made(image, sequence_of_parts, content, compiled=False)

    def small(colours):
        if len(colours) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return codes(colours)

    with monkeypatch.context() as patch:
        patch.setattr(foveation, "codes", small)
        painted = made(image, sequence_of_parts, content, compiled=False, batch=batch)

    np.testing.assert_array_equal(np.stack(painted), np.stack(expected))
    assert batch.size == 2


@pytest.mark.gpu
@pytest.mark.parametrize("content", CONTENT_SCHEMES)
def test_a_gpu_renders_the_same_but_for_rounding(content):
    image, masks = scene(7)
    sequence_of_parts = sequence_of(masks, include_empty=True)
    on_cpu = made(image, sequence_of_parts, content, box=(5, 5, 50, 50))

    there = frames(image, sequence_of_parts, content, box=(5, 5, 50, 50), device="cuda")

    for first_frame, second_frame in zip(on_cpu, there, strict=True):
        off = apart(first_frame, second_frame.cpu().numpy())
        assert off.max() <= int(content in BLURS)
        assert (off > 0).mean() < 1e-3


@pytest.mark.parametrize("r", [1 / 2, 0.3, 1 / 4, 0.09, 1 / 16])
def test_a_grating_at_r_times_nyquist_keeps_half_its_amplitude(r):
    def left(share):
        x = torch.arange(1024)
        grating = 0.5 + 0.4 * torch.cos(math.pi * r * share * x + 0.4)
        image = codes(grating[None, :, None].expand(48, 1024, 3))
        levels = 6
        at = float(positions(torch.tensor(r), levels))
        stack = pyramid(image, levels)
        mixed = torch.lerp(stack[int(at)], stack[min(int(at) + 1, levels - 1)], at % 1)
        inner = slice(200, 824)
        return float(mixed[20, inner, 0].std() / linear(image)[20, inner, 0].std())

    assert left(1) == pytest.approx(0.5, abs=0.03)
    assert left(1 / 4) > 0.9
    if r <= 1 / 4:
        assert left(4) < 0.02


def test_resolution_one_is_the_image_and_just_below_is_nearly_so():
    at = positions(torch.tensor([1, 0.999, 0.5, 0.25, 1 / 32]), 6)

    torch.testing.assert_close(at, torch.tensor([0, 0.0022, 1, 2, 5]), atol=1e-3, rtol=0)


def test_a_repeated_frame_is_the_same_tensor():
    image, masks = scene(8)
    order = ["missing", *list(masks)[:2], "gone", *list(masks)[2:]]
    for content in CONTENT_SCHEMES:
        painted = list(frames(image, sequence(order, masks), content, box=(0, 0, 9, 9)))

        assert len(painted) == 7
        assert painted[3] is painted[2]
        assert painted[4] is not painted[3]


def test_frames_are_made_one_by_one_as_they_are_asked_for(monkeypatch):
    image, masks = scene(9)
    measured_steps = []
    measure = PartDistances.of
    monkeypatch.setattr(
        PartDistances, "of", lambda self, step: measured_steps.append(step) or measure(self, step)
    )
    stream = frames(image, sequence_of(masks), "low")

    next(stream)
    next(stream)

    assert measured_steps == [0, 1]


def test_what_is_shown_stays_as_it_was():
    image, masks = scene(10)
    before = image.copy()
    # As Pillow's images come.
    image.flags.writeable = False

    painted = list(frames(image, sequence_of(masks), "low"))
    kept = painted[0].clone()
    painted[-1].zero_()
    list(frames(image, sequence_of(masks), "low"))

    np.testing.assert_array_equal(image, before)
    assert torch.equal(painted[0], kept)


def test_parts_come_on_black():
    image, masks = scene(11)
    sequence_of_parts = sequence_of(masks)

    painted = made(image, sequence_of_parts, "intra-object")

    for frame in range(len(sequence_of_parts) - 1):
        expected = np.where(sequence_of_parts.revealed(frame)[..., None], image, 0)
        np.testing.assert_array_equal(painted[frame], expected)


def test_the_neighbourhood_stays_around_a_box_that_is_black():
    image, masks = scene(12)
    sequence_of_parts = sequence_of(masks, include_empty=True)

    painted = made(
        image, sequence_of_parts, "intra-object-and-neighbourhood", box=(10.4, 5, 50.1, 70)
    )

    outside = np.ones(image.shape[:2], bool)
    outside[5:70, 10:51] = False
    for frame in range(len(sequence_of_parts) - 1):
        expected = np.where((outside | sequence_of_parts.revealed(frame))[..., None], image, 0)
        np.testing.assert_array_equal(painted[frame], expected)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (2, 300), (5, 5)])
def test_the_smallest_crops_have_frames(shape):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    corner = np.zeros(shape, bool)
    corner[0, 0] = True
    sequence_of_parts = sequence(["corner", "none"], {"corner": corner}, include_empty=True)

    for content in CONTENT_SCHEMES:
        painted = made(image, sequence_of_parts, content, box=(0, 0, 1, 1))

        assert [pixels.shape for pixels in painted] == [image.shape] * 4


def test_every_code_comes_back_from_linear_light():
    every = torch.arange(256, dtype=torch.uint8).view(16, 16, 1).expand(16, 16, 3)

    assert torch.equal(codes(linear(every)), every)


def test_an_even_image_stays_even():
    image = np.full((50, 70, 3), 200, np.uint8)
    _, masks = scene(13, 50, 70)

    for pixels in made(image, sequence_of(masks, include_empty=True), "low"):
        np.testing.assert_array_equal(pixels, image)


def test_the_higher_map_is_two_point_three_degrees_on_sixty():
    assert round(HIGHER.half, 1) == 17.4
    assert (LOW.half, LOW.power, LOW.dilation_px, LOW.map_width) == (2.3, 0.65, 4, 227)


def test_what_does_not_fit_is_refused_with_the_cure():
    image, masks = scene(14)
    sequence_of_parts = sequence_of(masks)

    for picture, content, message in [
        (image[:-1], "low", "cut image and masks to the same crop"),
        (image[..., 0], "low", r"give \(H, W, 3\) uint8"),
        (image / 255, "low", "the image is float64"),
        (image, "blurry", "expected one of intra-object, "),
        (image, "intra-object-and-neighbourhood", "came without a box; give"),
    ]:
        with pytest.raises(PartsError, match=message):
            frames(picture, sequence_of_parts, content)


@pytest.mark.parametrize(
    "odd", [{"half": 0}, {"power": -1}, {"half": math.inf}, {"dilation_px": -1}]
)
def test_a_blur_that_cannot_be_meant_is_refused(odd):
    with pytest.raises(ValueError, match="cannot be meant"):
        replace(LOW, **odd)


def test_compiled_loops_are_for_the_cpu():
    image, masks = scene(16)

    with pytest.raises(ValueError, match="compiled loops run on the CPU, not on meta"):
        frames(image, sequence_of(masks), "low", device="meta", compiled=True)


def test_another_map_may_be_given():
    image, masks = scene(15)

    painted = made(image, sequence_of(masks), Blur(5, 1, 3, dilation_px=0))

    expected = plain_blur(image, sequence_of(masks).revealed(0), Blur(5, 1, 3, dilation_px=0))
    assert apart(painted[0], expected).max() <= 3


@pytest.mark.parametrize("compiled", [True, False])
def test_a_crop_that_is_shared_gives_the_frames_of_each_order_and_scheme(compiled):
    image, masks = scene(11)
    masks["nothing"] = np.zeros_like(masks["part 0"])
    shared = SharedCrop(image, masks, compiled=compiled)
    box = (10, 8, 60, 50)

    for order in (list(masks), sorted(masks, reverse=True), ["absent", *masks]):
        sequence_of_parts = sequence(order, masks)
        for content in reversed(CONTENT_SCHEMES):
            ours = [
                frame_tensor.numpy()
                for frame_tensor in shared.frames(sequence_of_parts, content, box)
            ]
            alone = made(image, sequence_of_parts, content, box=box, compiled=compiled)
            assert all(map(np.array_equal, ours, alone))


def test_a_shared_crop_measures_each_part_and_makes_the_pyramid_once(monkeypatch):
    image, masks = scene(12)
    counted = []
    monkeypatch.setattr(
        "evaluation.metrics.frames.foveation.pyramid",
        lambda *arguments: counted.append("pyramid") or pyramid(*arguments),
    )
    measured = PartDistances.of
    monkeypatch.setattr(
        PartDistances, "of", lambda self, step: counted.append("part") or measured(self, step)
    )
    shared = SharedCrop(image, masks)
    shared.prepare(OURS)
    ready = len(counted)

    for order in (list(masks), sorted(masks, reverse=True)):
        for content in OURS:
            assert len(list(shared.frames(sequence(order, masks), content))) == 5

    assert counted.count("part") == 4
    assert len(counted) == ready == 5
