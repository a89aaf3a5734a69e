"""10,000 objects of 12 parts each, brought in from COCO: objects a second, and memory.

`python -m benchmarks.bench_parts.imports [--objects N]`, on a throwaway SQLite database, each
action in a process of its own so that its memory is its own. Two legs of every object lie in two
pieces each and are merged. PASCAL-Part's masks are measured on a twentieth. Part of bench_parts.
"""

import math
import os
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized

OBJECTS = sized(10_000, 20)
# Beside it, an import of a fifth, to see whether memory follows.
FEWER = 5
MASKS = sized(20, 3)
# As in PASCAL VOC.
SIZE = (500, 375)
RATE = 50
FLAT_MIB = 40
# Where the parts lie; the legs in pieces, a gap of two pixels between them.
DISCS = {
    "head": (110, 80, 28), "muzzle": (84, 96, 10), "neck": (140, 110, 18), "tail": (360, 150, 14),
    "leye": (104, 70, 4), "reye": (118, 70, 4), "lear": (96, 48, 8), "torso": (240, 150, 70),
}  # fmt: skip
LEGS = {
    "lfuleg": (170, 222, 192, 270),
    "lflleg": (172, 272, 190, 320),
    "rbuleg": (290, 222, 314, 270),
    "rblleg": (293, 272, 311, 320),
}


def rows(objects: int = OBJECTS) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = (_child(folder, "prepare", n) for n in (objects // FEWER, objects))
        masks = _child(folder, "prepare_masks", objects // MASKS)
        little, brought = _child(folder, "bring", few), _child(folder, "bring", many)
        again, drawn = _child(folder, "bring", many), _child(folder, "bring", masks)
    assert again["changed"] == 0, "the same import twice changed something"
    rate, mask_rate = brought["objects"] / brought["seconds"], drawn["objects"] / drawn["seconds"]
    return [
        {
            "name": f"importing {objects:,} objects of 12 parts from COCO, {brought['merged']:,} "
            "merged",
            "target": f"≥ {RATE} a second",
            "measured": f"{rate:.0f} a second (load {os.getloadavg()[0]:.1f}); the same once more "
            f"{again['objects'] / again['seconds']:.0f}",
            "ok": rate >= RATE,
        },
        {
            "name": f"its memory, beside that of {objects // FEWER:,} objects",
            "target": f"< {FLAT_MIB} MiB more",
            "measured": f"{brought['grown']} MiB over {brought['before']}, of a fifth "
            f"{little['grown']}",
            "ok": brought["grown"] - little["grown"] < FLAT_MIB,
        },
        {
            "name": f"importing {objects // MASKS:,} of them from PASCAL-Part's masks",
            "target": f"≥ {RATE} a second",
            "measured": f"{mask_rate:.0f} a second",
            "ok": mask_rate >= RATE,
        },
    ]


_child = partial(own_process.run, "bench_parts.imports")

# In processes of their own, with Django set up.


def prepare(objects: int) -> dict[str, Any]:
    """A dataset with as many images as objects, and a COCO file of these."""
    from labeling.formats import coco_parts
    from labeling.formats.label import About
    from labeling.parts.model import Part, PartedObject, Photograph

    dataset = _dataset(f"bench-{objects}", objects)
    chance = random.Random(objects)
    folder = Path(os.environ["ASSAY_DATA"]) / dataset
    folder.mkdir()
    scenes = (
        (
            Photograph(f"{n:05}.jpg", *SIZE),
            [
                PartedObject(
                    f"{n:05}.jpg",
                    "cow",
                    (60, 30, 400, 330),
                    tuple(Part(key, polygons) for key, polygons in _regions(chance).items()),
                    name="cow-1",
                )
            ],
        )
        for n in range(objects)
    )
    coco_parts.write(scenes, folder, About("Bench", {}))
    return {"dataset": dataset, "path": str(folder), "format": "coco"}


def prepare_masks(objects: int) -> dict[str, Any]:
    """The same as .mat files, one object in each."""
    import numpy as np
    from scipy.io import savemat

    from labeling.geometry.regions import mask_of

    dataset = _dataset(f"masks-{objects}", objects)
    chance = random.Random(objects)
    folder = Path(os.environ["ASSAY_DATA"]) / dataset
    folder.mkdir()
    for n in range(objects):
        masks = {key: mask_of(p, (0, 0, *SIZE)) for key, p in _regions(chance).items()}
        parts = np.empty((1, len(masks)), dtype=[("part_name", object), ("mask", object)])
        for at, (key, mask) in enumerate(masks.items()):
            parts[0, at] = (key, mask)
        whole = np.any(list(masks.values()), axis=0)
        thing = {"class": "cow", "class_ind": 10.0, "mask": whole, "parts": parts}
        anno = {"imname": f"{n:05}", "objects": {**thing, "bbox": np.array([[61, 31, 400, 330.0]])}}
        savemat(folder / f"{n:05}.mat", {"anno": anno}, do_compression=True)
    return {"dataset": dataset, "path": str(folder), "format": "pascal-part"}


def _dataset(name: str, images: int) -> str:
    from django.core.management import call_command

    from labeling.datasets import vocabulary_store
    from labeling.models import Dataset, User

    call_command("migrate", verbosity=0)
    owner = User.objects.create(username=f"owner-{name}", is_researcher=True)
    dataset = Dataset.objects.create(owner=owner, name=name)
    vocabulary_store.start(dataset, owner)
    own_process.add_images(dataset, images, SIZE)
    return name


def _regions(chance: random.Random) -> dict[str, Any]:
    discs = {key: ((_ring(*disc, 40, chance),),) for key, disc in DISCS.items()}
    return discs | {key: ((_leg(*box, chance),),) for key, box in LEGS.items()}


def _ring(x: float, y: float, radius: float, corners: int, chance: random.Random) -> Any:
    """A ragged disc; its corners lie on rays that never cross."""
    found = []
    for step in range(corners):
        far = radius * chance.uniform(0.96, 1.04)
        angle = 2 * math.pi * step / corners
        found.append((round(x + far * math.cos(angle), 1), round(y + far * math.sin(angle), 1)))
    return tuple(found)


def _leg(x0: float, y0: float, x1: float, y1: float, chance: random.Random) -> Any:
    """A box with ragged sides and level ends."""
    steps = [y0 + (y1 - y0) * n / 18 for n in range(19)]
    left = [(round(x0 + chance.uniform(-1, 1), 1), round(y, 1)) for y in steps]
    right = [(round(x1 + chance.uniform(-1, 1), 1), round(y, 1)) for y in steps]
    return (*left, *reversed(right))


def bring(about: dict[str, Any]) -> dict[str, Any]:
    from labeling.datasets import vocabulary_store
    from labeling.exchange import part_imports
    from labeling.exchange.part_report import Report
    from labeling.models import Dataset

    dataset = Dataset.objects.get(name=about["dataset"])
    version = vocabulary_store.in_force(dataset)
    how = part_imports.ImportOptions("bench")
    before = own_process.peak_mib()
    start = time.perf_counter()
    bringing = part_imports.Bringing(dataset, version, how, Report())
    report = bringing.read(Path(about["path"]), about["format"])
    seconds = time.perf_counter() - start
    assert not report.refused, report.refused[:3]
    return {
        "objects": report.objects,
        "merged": report.merged,
        "changed": report.changed,
        "seconds": seconds,
        "before": before,
        "grown": own_process.peak_mib() - before,
    }


ACTIONS: dict[str, own_process.Action] = {
    "prepare": prepare,
    "prepare_masks": prepare_masks,
    "bring": bring,
}

if __name__ == "__main__":
    own_process.main(__doc__, ACTIONS, rows, OBJECTS)
