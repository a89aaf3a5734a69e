"""Pools on the site whose predictions are random."""

import io
import zipfile
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from evaluation.models import Pool, PoolSelection
from evaluation.pools.choosing import NearImage, SelectionSummary
from evaluation.readers.selections import Meta, SelectionFile, SelectionLine
from evaluation.selection.overlaps import PairCount
from labeling.models import Dataset, Job
from tests import factories
from tests.evaluation.pool import make_pool


def zipped(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return file.getvalue()


def images_of(dataset: Dataset, count: int) -> list[str]:
    """Add photographs of different colours and return their names."""
    names = [f"pool/{number:03d}.png" for number in range(count)]
    for name in names:
        factories.make_image(dataset, name)
    return names


def with_predictions(dataset: Dataset, folder: Path, images: int = 40, **options: Any) -> Pool:
    """A pool as the site keeps it. The folder stays, for the command."""
    ids = images_of(dataset, images)
    make_pool(folder, ids=ids, **options)
    return Pool.objects.create(
        dataset=dataset,
        names=["alpha", "beta", "gamma"],
        file=storages["data"].save("pools/made.zip", ContentFile(zipped(folder))),
        result={},
        created_by=dataset.owner,
    )


def selection_of(pool: Pool) -> PoolSelection:
    """A selection that was made: two images of one pair."""
    rule = {"top_k": 2, "reserve": 0, "min_confidence": 0.5, "max_per_label": 3}
    meta = Meta(classifiers=pool.names, unique_pairs=False, distance="weighted", **rule)
    names = pool.dataset.images.order_by("name").values_list("name", flat=True)[:2]
    pair = (pool.names[0], pool.names[1])
    lines = [
        SelectionLine(pair, rank, name, ("n02018207", "n01847000"), (0.9, 0.8), 1.0)
        for rank, name in enumerate(names, 1)
    ]
    content = "".join(SelectionFile(meta, lines).text_lines()).encode()
    summary = SelectionSummary(
        images=2,
        questions=4,
        reserve=0,
        short_pairs=0,
        pairs=[PairCount(pair=pair, images=2)],
        near=[NearImage(image=names[1], kept=names[0], distance=3)],
    )
    return PoolSelection.objects.create(
        pool=pool,
        settings={"classifiers": [], "unique_pairs": False, "distance": "weighted", **rule},
        job=Job.objects.create(kind="select", key="selection", payload={}, state="done"),
        file=storages["data"].save("selections/1.jsonl", ContentFile(content)),
        summary=summary.to_json(),
        created_by=pool.created_by,
    )
