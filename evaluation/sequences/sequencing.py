"""Make the sequences of a release: their lines, and their frames as tensors. No Django.

Torch is imported inside functions.
"""

import io
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.devices import BatchSize
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES, SharedCrop, frame_batch
from evaluation.metrics.frames.sequences import PartSequence, PartsError, sequence
from evaluation.readers.sequences import SequenceLine
from evaluation.sequences.objects import DrawnObject, LeftOutObjects, drawn, drawn_objects
from evaluation.sequences.part_orders import Orders
from labeling.files import BadInput
from labeling.formats.reading import MAX_PIXELS
from labeling.geometry.crops import Crop
from labeling.image_files import BadImage, upright
from labeling.parts.model import PartedObject, Photograph
from labeling.release_files.frozen import Frozen

if TYPE_CHECKING:
    from torch import Tensor

Open = Callable[[str], IO[bytes]]
# Limits on sequences that are being made or wait for the reader: their number, and the bytes of
# their frames and sources.
AHEAD, AHEAD_BYTES = 4, 256 << 20
# Bytes per pixel: a pyramid of six levels, distances to nine parts.
OBJECT_BYTES = 6 * 12 + 9 * 4


def lines_of(
    frozen: Frozen,
    orders: Orders,
    content_schemes: Sequence[str] = CONTENT_SCHEMES,
    include_empty: bool = False,
    left_out: LeftOutObjects | None = None,
) -> Iterator[SequenceLine]:
    """Yield a line for each object, part scheme and content scheme, in this order; no pixels are
    read.

    left_out: counts objects without drawn parts. Raises BadInput.
    """
    for _, image_objects in drawn_objects(frozen, left_out):
        for drawn_object in image_objects:
            yield from object_lines(drawn_object, orders, content_schemes, include_empty)


def frame_ids(
    prefix: str, order: Sequence[str], present: Collection[str], include_empty: bool = False
) -> tuple[str, ...]:
    """Return the ids of a sequence's frames: a missing part repeats the frame before.

    >>> frame_ids("a", ["head", "tail", "leg"], {"head", "leg"})
    ('a/01', 'a/01', 'a/03', 'a/04')
    >>> frame_ids("a", ["head", "leg"], {"leg"}, include_empty=True)
    ('a/01', 'a/01', 'a/03', 'a/04')
    """
    is_new = [True] * include_empty + [part in present for part in order] + [True]
    ids: list[str] = []
    for number, adds in enumerate(is_new, 1):
        ids.append(ids[-1] if ids and not adds else f"{prefix}/{number:02}")
    return tuple(ids)


def frames_of(
    frozen: Frozen,
    orders: Orders,
    content_schemes: Sequence[str],
    open_image: Open,
    *,
    include_empty: bool = False,
    objects: Collection[tuple[str, str]] | None = None,
    is_wanted: Callable[[str], bool] | None = None,
    device: Any = "cpu",
    threads: int = 2,
) -> Generator[tuple[str, "Tensor"]]:
    """Yield every distinct frame once, by its id: (H, W, 3) uint8 on the device, in order of
    lines_of.

    open_image: called in the reader's thread, once for each photograph that is rendered. objects:
    image and name of those to render; None for all, which must have orders. is_wanted:
    whether to yield a frame id; a sequence without wanted frames is not rendered. Equal frames may
    be one tensor: do not write into them. `threads` render one sequence each, a little ahead of the
    reader, so memory stays constant. Raises BadInput.
    """
    scenes = _wanted(frozen, orders, content_schemes, include_empty, objects, is_wanted)
    pool = ThreadPoolExecutor(threads, "frames", initializer=_one_thread)
    try:
        ready = _prepared(pool, scenes, open_image, device, frame_batch())
        for line, made in _rendered(pool, _one_ahead(ready), orders, include_empty):
            for name, frame in _distinct(line, made):
                if is_wanted is None or is_wanted(name):
                    yield name, frame
    finally:
        pool.shutdown(cancel_futures=True)
        _as_before()


def render(
    thing: PartedObject,
    photo: Photograph,
    line: SequenceLine,
    order: Sequence[str],
    open_image: Open,
    *,
    include_empty: bool = False,
    device: Any = "cpu",
) -> list[tuple[str, NDArray[np.uint8]]]:
    """Return the distinct frames of one sequence, in order, by id: (H, W, 3) uint8, sRGB.

    order: of the parts of the object's category. include_empty: as for the line.
    """
    drawn_object = drawn(photo, thing, {thing.category: tuple(order)})
    photograph = _decode(photo, _opened(photo, open_image))
    revealed = _Revealed(drawn_object, photograph, [line.content_scheme], device, frame_batch())
    made = revealed.frames(line.content_scheme, order, include_empty)
    return [(name, frame.cpu().numpy()) for name, frame in _distinct(line, made)]


class _Revealed:
    """An object ready for rendering: the crops of its content schemes, each made once."""

    def __init__(
        self,
        drawn_object: DrawnObject,
        photograph: NDArray[np.uint8],
        content_schemes: Sequence[str],
        device: Any,
        batch: BatchSize,
    ) -> None:
        self.drawn_object, self.batch = drawn_object, batch
        self.crops: dict[Crop, SharedCrop] = {}
        self.sequences: dict[tuple[Crop, tuple[str, ...]], PartSequence] = {}
        for content in content_schemes:
            crop = drawn_object.crop(content)
            if crop not in self.crops:
                x0, y0, x1, y1 = crop
                image = photograph[y0:y1, x0:x1]
                self.crops[crop] = SharedCrop(image, drawn_object.masks(crop), device)
            self.crops[crop].prepare([content])

    def frames(self, content: str, order: Sequence[str], include_empty: bool) -> list["Tensor"]:
        crop, box = self.drawn_object.crop(content), self.drawn_object.thing.box
        x0, y0 = crop[:2]
        part_sequence = self._sequence(crop, tuple(order), include_empty)
        inside = (box[0] - x0, box[1] - y0, box[2] - x0, box[3] - y0)
        return list(self.crops[crop].frames(part_sequence, content, inside, self.batch))

    def _sequence(self, crop: Crop, order: tuple[str, ...], include_empty: bool) -> PartSequence:
        """Return the steps of a crop by an order, shared by all content schemes with that crop."""
        part_sequence = self.sequences.get((crop, order))
        if part_sequence is None:
            try:
                part_sequence = sequence(order, self.crops[crop].masks, include_empty)
            except PartsError as error:
                raise BadInput(
                    f"{self.drawn_object.title}: {error.message}", cure=error.cure
                ) from None
            self.sequences[crop, order] = part_sequence
        return part_sequence


_Scene = tuple[Photograph, list[tuple[DrawnObject, list[SequenceLine]]]]
_Ready = tuple[DrawnObject, list[SequenceLine], "Future[_Revealed]"]


def _wanted(
    frozen: Frozen,
    orders: Orders,
    content_schemes: Sequence[str],
    include_empty: bool,
    objects: Collection[tuple[str, str]] | None,
    is_wanted: Callable[[str], bool] | None,
) -> Iterator[_Scene]:
    """Yield images with their objects and sequences that have a wanted frame."""
    for photo, image_objects in drawn_objects(frozen):
        kept_objects = []
        for drawn_object in image_objects:
            if objects is not None and (photo.name, drawn_object.thing.name) not in objects:
                continue
            lines = list(object_lines(drawn_object, orders, content_schemes, include_empty))
            if is_wanted is not None:
                lines = [line for line in lines if any(map(is_wanted, line.frames))]
            if lines:
                kept_objects.append((drawn_object, lines))
        if kept_objects:
            yield photo, kept_objects


def _prepared(
    pool: ThreadPoolExecutor,
    scenes: Iterable[_Scene],
    open_image: Open,
    device: Any,
    batch: BatchSize,
) -> Iterator[_Ready]:
    """Yield every object with its sequences, while it is being prepared."""
    for photo, scene_objects in scenes:
        # Open here and not in the pool: open_image may use a database connection of this thread.
        photograph = pool.submit(_decode, photo, _opened(photo, open_image))
        for drawn_object, lines in scene_objects:
            contents = list(dict.fromkeys(line.content_scheme for line in lines))
            yield (
                drawn_object,
                lines,
                pool.submit(_make_ready, drawn_object, photograph, contents, device, batch),
            )


def _one_ahead(ready: Iterable[_Ready]) -> Iterator[_Ready]:
    """Yield the same items, requesting each one before the previous one is yielded."""
    before = None
    for item in ready:
        if before is not None:
            yield before
        before = item
    if before is not None:
        yield before


def _rendered(
    pool: ThreadPoolExecutor, ready: Iterable[_Ready], orders: Orders, include_empty: bool
) -> Iterator[tuple[SequenceLine, list["Tensor"]]]:
    """Yield every sequence with its frames, rendering a few ahead of the reader.

    A task's prerequisites enter the pool before it, so tasks cannot deadlock.
    """
    waiting: deque[tuple[int, SequenceLine, Future[list[Tensor]]]] = deque()
    for drawn_object, lines, revealed in ready:
        for line in lines:
            order = orders[line.part_scheme][line.category]
            x0, y0, x1, y1 = drawn_object.crop(line.content_scheme)
            task = pool.submit(_make_frames, revealed, line.content_scheme, order, include_empty)
            size = (x1 - x0) * (y1 - y0) * (3 * len(set(line.frames)) + OBJECT_BYTES)
            waiting.append((size, line, task))
            while len(waiting) > AHEAD or sum(size for size, _, _ in waiting) > AHEAD_BYTES:
                _, line, task = waiting.popleft()
                yield line, task.result()
    while waiting:
        _, line, task = waiting.popleft()
        yield line, task.result()


def _make_ready(
    drawn_object: DrawnObject,
    photograph: "Future[NDArray[np.uint8]]",
    contents: list[str],
    device: Any,
    batch: BatchSize,
) -> _Revealed:
    return _Revealed(drawn_object, photograph.result(), contents, device, batch)


def _make_frames(
    revealed: "Future[_Revealed]", content: str, order: Sequence[str], include_empty: bool
) -> list["Tensor"]:
    return revealed.result().frames(content, order, include_empty)


def _one_thread() -> None:
    """Limit torch to one thread in each rendering thread, so that they do not wait for
    each other.
    """
    import torch

    torch.set_num_threads(1)


def _as_before() -> None:
    """Restore the reader's number of torch threads for threads that start later."""
    import torch

    torch.set_num_threads(torch.get_num_threads())


def _distinct(line: SequenceLine, made: Sequence["Tensor"]) -> Iterator[tuple[str, "Tensor"]]:
    before = None
    for name, frame in zip(line.frames, made, strict=True):
        if name != before:
            yield name, frame
        before = name


def object_lines(
    drawn_object: DrawnObject, orders: Orders, content_schemes: Sequence[str], include_empty: bool
) -> Iterator[SequenceLine]:
    """Yield the lines of one object, as lines_of does."""
    thing = drawn_object.thing
    for scheme, categories in orders.items():
        order = categories.get(thing.category)
        if order is None:
            raise BadInput(
                f"the part scheme {scheme} orders no parts of {thing.category}, of which "
                f"{drawn_object.title} is one",
                cure="add the category to the orders",
            )
        for content in content_schemes:
            yield SequenceLine(
                image=drawn_object.photo.name,
                category=thing.category,
                part_scheme=scheme,
                content_scheme=content,
                frames=frame_ids(
                    f"{drawn_object.photo.name}/{thing.name}/{scheme}/{content}",
                    order,
                    drawn_object.parts,
                    include_empty,
                ),
                object=thing.name,
                present=len(drawn_object.parts),
                parts=len(order),
            )


def _opened(photo: Photograph, open_image: Open) -> IO[bytes]:
    try:
        return open_image(photo.name)
    except FileNotFoundError:
        raise BadInput(
            "the photograph is missing", file=photo.name, cure="put it there, by that name"
        ) from None
    except OSError as error:
        raise BadInput(
            f"the photograph cannot be opened: {(error.strerror or str(error)).lower()}",
            file=photo.name,
            cure="check who may read it",
        ) from None


def _decode(photo: Photograph, file: IO[bytes]) -> NDArray[np.uint8]:
    """Return (H, W, 3) uint8, sRGB, upright, and close the file. Raises BadInput for another
    photograph.
    """
    try:
        with file:
            image = upright(io.BytesIO(file.read()), max_pixels=MAX_PIXELS)
    except (BadImage, OSError) as bad:
        raise BadInput(
            f"the photograph cannot be read: {bad}",
            file=photo.name,
            cure="put the right file there",
        ) from None
    if image.size != (photo.width, photo.height):
        raise BadInput(
            f"the photograph has {image.width} × {image.height} pixels, the release says "
            f"{photo.width} × {photo.height}",
            file=photo.name,
            cure="give the photograph that the parts were drawn on",
        )
    return np.asarray(image)
