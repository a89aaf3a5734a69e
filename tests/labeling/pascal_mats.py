"""PASCAL-Part `.mat` files as the dataset has them, for tests.

anno.imname            "2008_000585", without an ending
anno.objects(i)        class "cow", class_ind 10, bbox [x1 y1 x2 y2] counted from 1, both ends
                       inside, mask (logical, H x W), parts
anno.objects(i).parts  part_name "lfuleg", mask (logical, H x W); [] (0 x 0) where there are none
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

# VOC's classes in its order: class_ind is the place, counted from 1.
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)
# Some part names of each of the paper's categories, as PASCAL-Part spells them.
NAMES = {
    "aeroplane": "body stern lwing rwing tail engine_1 engine_2 wheel_1 wheel_2",
    "bicycle": "fwheel bwheel saddle handlebar chainwheel headlight_1",
    "bird": "head leye reye beak torso neck lwing rwing lleg lfoot rleg rfoot tail",
    "bus": "frontside leftside roofside bliplate fliplate door_1 wheel_1 headlight_1 window_1",
    "car": "frontside leftside roofside leftmirror door_1 wheel_1 wheel_2 headlight_1 window_1",
    "cat": "head leye reye lear rear nose torso neck lfleg lfpa rfleg rfpa lbleg lbpa rbleg tail",
    "cow": "head leye lear rear muzzle lhorn torso neck lfuleg lflleg rfuleg rflleg lbuleg tail",
    "dog": "head leye reye lear rear nose muzzle torso neck lfleg lfpa rfleg rfpa lbleg tail",
    "horse": "head leye lear rear muzzle torso neck lfuleg lflleg lfho rfuleg rflleg lbuleg tail",
    "person": "head leye reye lear nose mouth hair torso neck luarm llarm lhand luleg llleg lfoot",
    "sheep": "head leye lear muzzle lhorn torso neck lfuleg lflleg rfuleg rflleg lbuleg tail",
    "train": "head hfrontside hleftside headlight_1 coach_1 cfrontside_1 cleftside_1",
}


@dataclass
class MatObject:
    """An object of a file. parts: (part_name, mask) pairs."""

    name: str
    mask: np.ndarray
    parts: Sequence[tuple[str, np.ndarray]] = field(default_factory=list)


def struct(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """A 1 x N struct array, or [] (0 x 0) for none, as MATLAB saves it."""
    if not rows:
        return np.zeros((0, 0))
    made = np.empty((1, len(rows)), dtype=[(name, object) for name in rows[0]])
    for number, row in enumerate(rows):
        made[0, number] = tuple(row.values())
    return made


def bbox(mask: np.ndarray) -> np.ndarray:
    """(1, 4): x1 y1 x2 y2, counted from 1 with both ends inside; zeros for an empty mask."""
    ys, xs = np.nonzero(mask)
    if not len(xs):
        return np.zeros((1, 4))
    return np.array([[xs.min() + 1, ys.min() + 1, xs.max() + 1, ys.max() + 1]], dtype=float)


def anno(imname: str, objects: Sequence[MatObject]) -> dict[str, Any]:
    """The content of `anno`, for tests that spoil it before they save it."""
    rows = [
        {
            "class": row.name,
            "class_ind": float(CLASSES.index(row.name) + 1) if row.name in CLASSES else 0.0,
            "bbox": bbox(row.mask),
            "mask": row.mask.astype(bool),
            "parts": struct(
                [{"part_name": name, "mask": mask.astype(bool)} for name, mask in row.parts]
            ),
        }
        for row in objects
    ]
    return {"imname": imname, "objects": struct(rows)}


def save(folder: Path, imname: str, objects: Sequence[MatObject]) -> Path:
    """`<folder>/<imname>.mat` as MATLAB v5, compressed, with what anno() says."""
    return save_anno(folder / f"{imname}.mat", anno(imname, objects))


def save_anno(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"anno": content}, do_compression=True)
    return path


def an_object(
    name: str,
    size: tuple[int, int],
    box: tuple[int, int, int, int],
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> MatObject:
    """An ellipse in the box (x0, y0, x1, y1) of an image of (height, width), cut by random seeds
    into a part for each name; without names, those that PASCAL-Part gives the class."""
    ys, xs = np.mgrid[: size[0], : size[1]] + 0.5
    x0, y0, x1, y1 = box
    middle, half = ((x0 + x1) / 2, (y0 + y1) / 2), ((x1 - x0) / 2, (y1 - y0) / 2)
    inside = ((xs - middle[0]) / half[0]) ** 2 + ((ys - middle[1]) / half[1]) ** 2 <= 1
    names = NAMES[name].split() if names is None else list(names)
    if not names:
        return MatObject(name, inside)
    rng = np.random.default_rng(seed)
    places = np.argwhere(inside)
    seeds = places[rng.choice(len(places), len(names), replace=False)] + 0.5
    nearest = np.argmin([(xs - x) ** 2 + (ys - y) ** 2 for y, x in seeds], axis=0)
    parts = [(part, inside & (nearest == number)) for number, part in enumerate(names)]
    return MatObject(name, inside, parts)


def a_scene(folder: Path, imname: str = "2008_000585", size: tuple[int, int] = (90, 120)) -> Path:
    """A cow with her parts, a dog whose left ear is in two pieces, and a person without parts."""
    cow = an_object("cow", size, (4, 10, 64, 80), seed=1)
    dog = an_object("dog", size, (70, 40, 116, 86), ["head", "torso", "tail"], seed=2)
    ear = np.zeros(size, bool)
    ear[44:47, 84:88] = ear[44:47, 92:95] = True
    dog.parts = [(name, mask & ~ear) for name, mask in dog.parts] + [("lear", ear)]
    person = an_object("person", size, (90, 4, 110, 30), [])
    return save(folder, imname, [cow, dog, person])
