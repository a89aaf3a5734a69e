"""Tasks that render the frames of a release's objects, a few photographs each.

A task carries the lines of the release that it needs, so other machines need not read the release.
Torch is imported inside functions.
"""

import hashlib
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation import devices
from evaluation.engines.input_files import SHARE_FILES
from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.tasks import Task, map_in_tasks, split, task
from evaluation.sequences.part_orders import Orders
from evaluation.sequences.sequencing import frames_of, lines_of
from labeling.files import BadInput
from labeling.release_files.frozen import Frozen, Head
from labeling.release_files.groups import Groups

if TYPE_CHECKING:
    from torch import Tensor

Open = Callable[[str], IO[bytes]]
IMAGES, OBJECTS = "images.jsonl", "objects.jsonl"
# Limits on the frames of a task: number, and bytes before packing.
MAX_TASK_FRAMES, MAX_TASK_BYTES = 1000, 1 << 28
# PNG compression level: up to 25 % larger files than with 6; blurred frames take 20 % of the time.
COMPRESSION = 1


@dataclass(frozen=True)
class HeldRelease(Frozen):
    """Some images of a release, with their lines in memory."""

    held: Mapping[str, Sequence[Any]]

    def lines(self, name: str) -> Iterator[Any]:
        return iter(self.held[name])


@dataclass(frozen=True)
class ReleaseScene:
    """A photograph of a release, its objects, and the ids of their frames."""

    image: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]
    frames: Sequence[str]

    @property
    def bytes(self) -> int:
        """Return an upper bound of the bytes of its frames: each as large as the photograph."""
        return int(self.image["width"]) * int(self.image["height"]) * 3 * len(self.frames)


@dataclass(frozen=True)
class FrameStretch:
    """The photographs of a task, and the ids of the frames that it makes, in order."""

    scenes: Sequence[ReleaseScene]
    frames: Sequence[str]


@dataclass(frozen=True)
class Revealing:
    """How the objects of a release are revealed. orders: as sequencing.lines_of takes them."""

    frozen: Frozen
    orders: Orders
    content_schemes: Sequence[str]
    include_empty: bool

    def scenes(self) -> Iterator[ReleaseScene]:
        """Yield every photograph that has frames, in the order of the release."""
        objects = Groups[Any](self.frozen.lines(OBJECTS))
        for image in self.frozen.images():
            image_objects = objects.of(image["name"])
            held = HeldRelease(
                self.frozen.folder, self.frozen.meta, {IMAGES: [image], OBJECTS: image_objects}
            )
            lines = lines_of(held, self.orders, self.content_schemes, self.include_empty)
            frames = list(dict.fromkeys(name for line in lines for name in line.frames))
            if frames:
                yield ReleaseScene(dict(image), image_objects, frames)

    def arguments(self, stretch: FrameStretch, open_image: Open) -> dict[str, object]:
        """Return everything that the frames of a stretch depend on, as JSON.

        Each photograph is read once for its SHA-256. Raises BadInput for a missing one.
        """
        categories = self.frozen.meta["campaign"]["settings"].get("categories", {})
        return {
            "images": [scene.image for scene in stretch.scenes],
            "objects": [row for scene in stretch.scenes for row in scene.objects],
            "categories": categories,
            "orders": self.orders,
            "content_schemes": list(self.content_schemes),
            "include_empty": self.include_empty,
            "frames": list(stretch.frames),
            "photographs": _sha256([scene.image["name"] for scene in stretch.scenes], open_image),
        }


def revealed_frames(
    arguments: Mapping[str, Any], photographs: Path, device: str
) -> Generator[tuple[str, "Tensor"]]:
    """Return the frames that Revealing.arguments describe, as frames_of yields them.

    photographs: their folder. Raises BadInput where they differ here.
    """

    def open_image(name: str) -> IO[bytes]:
        return (photographs / name).open("rb")

    names = [image["name"] for image in arguments["images"]]
    if _sha256(names, open_image) != arguments["photographs"]:
        raise BadInput(
            "has other photographs here than where the command began",
            photographs,
            None,
            SHARE_FILES,
        )
    held = {IMAGES: arguments["images"], OBJECTS: arguments["objects"]}
    meta: Any = {
        "files": dict.fromkeys(held),
        "campaign": {"settings": {"categories": arguments["categories"]}},
    }
    release: Head = meta
    return frames_of(
        HeldRelease(photographs, release, held),
        arguments["orders"],
        arguments["content_schemes"],
        open_image,
        include_empty=arguments["include_empty"],
        is_wanted=frozenset(arguments["frames"]).__contains__,
        device=device,
    )


def by_photographs(scenes: Iterable[ReleaseScene]) -> list[FrameStretch]:
    """Return the scenes cut into the stretches of tasks; a photograph stays in one stretch."""
    groups: list[list[ReleaseScene]] = []
    frames = size = 0
    for scene in scenes:
        frames, size = frames + len(scene.frames), size + scene.bytes
        if not groups or frames > MAX_TASK_FRAMES or size > MAX_TASK_BYTES:
            groups.append([])
            frames, size = len(scene.frames), scene.bytes
        groups[-1].append(scene)
    return [
        FrameStretch(group, [name for scene in group for name in scene.frames]) for group in groups
    ]


def by_frames(scenes: Iterable[ReleaseScene], count: int) -> list[FrameStretch]:
    """Return the scenes cut after this many frames; a photograph may be in several stretches."""
    placed = [(name, scene) for scene in scenes for name in scene.frames]
    stretches = []
    for part in split(placed, count):
        part_scenes = list({id(scene): scene for _, scene in part}.values())
        stretches.append(FrameStretch(part_scenes, [name for name, _ in part]))
    return stretches


def tasks_of(
    stretches: Sequence[FrameStretch],
    revealing: Revealing,
    open_image: Open,
    photographs: Path,
    device: str,
) -> list[Task]:
    """Return the tasks that render the frames of these stretches. Raises BadInput."""
    kind = device.partition(":")[0]
    return map_in_tasks(
        packed_frames,
        stretches,
        lambda stretch: {"revealed": revealing.arguments(stretch, open_image), "device": kind},
        lambda _: {"photographs": str(photographs.absolute()), "local_device": device},
        0 if kind == "cpu" else 1,
    )


@task(version=1, libraries=("torch", "pillow"))
def packed_frames(
    revealed: Mapping[str, Any], device: str, photographs: str, local_device: str
) -> bytes:
    """Return the frames of a stretch as PNG files. local_device: the device on this machine."""
    del device
    files = {}
    frames = revealed_frames(revealed, Path(photographs), devices.check_device(local_device))
    for number, (_, frame) in enumerate(frames):
        files[str(number)] = np.frombuffer(png(frame.cpu().numpy()), np.uint8)
    return pack_arrays(files)


def unpack(content: bytes, stretch: FrameStretch) -> Iterator[tuple[str, bytes]]:
    """Yield the PNG file of each frame, by its id."""
    files, _ = unpack_arrays(content)
    for number, name in enumerate(stretch.frames):
        yield name, files[str(number)].tobytes()


def png(frame: NDArray[np.uint8]) -> bytes:
    """Return the PNG file of a frame (H, W, 3)."""
    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, "PNG", compress_level=COMPRESSION)
    return stream.getvalue()


def _sha256(names: Sequence[str], open_image: Open) -> str:
    digest = hashlib.sha256()
    for name in names:
        try:
            with open_image(name) as file:
                digest.update(hashlib.sha256(file.read()).digest())
        except FileNotFoundError:
            raise BadInput(
                "the photograph is missing", file=name, cure="put it there, by that name"
            ) from None
    return digest.hexdigest()
