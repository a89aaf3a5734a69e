"""Removal of an image's frames and labels from benchmarks, for privacy.

Earlier scores are kept, since they come from stored predictions.
"""

import shutil

from evaluation.benchmarks import truth_versions
from evaluation.benchmarks.folders import folder_of
from evaluation.models import Benchmark
from labeling.jobs import queue, shared_files
from labeling.models import Image, Job
from labeling.releases import freezing
from labeling.removal.privacy import RemovedImage

KIND = "drop removed image"
# Drawn frames of objects, in a benchmark's folder and in the store (kinds/cds/viewing.py).
FRAMES = "frames"


def remove_frames(removed: RemovedImage) -> None:
    """Remove frames of benchmarks on the image's campaigns, and queue new versions of the truth."""
    for benchmark in Benchmark.objects.filter(campaign__in=removed.campaigns):
        shutil.rmtree(folder_of(benchmark) / FRAMES, ignore_errors=True)
        if shared_files.is_shared():
            for row in shared_files.list_files(FRAMES):
                if row.name.startswith(f"{FRAMES}/{benchmark.pk}-"):
                    shared_files.delete(row.name)
        if benchmark.truth_versions.exists():
            queue.enqueue(KIND, f"{benchmark.pk}:{removed.image}", {"benchmark": benchmark.pk})


def execute(job: Job) -> None:
    """Make a version of the truth without removed images, even if the benchmark is pinned."""
    rows = Benchmark.objects.select_related("campaign__dataset", "campaign__policy", "release")
    benchmark = rows.filter(pk=job.payload["benchmark"]).first()
    if benchmark is None:
        return
    # The image must go, whatever the pin and the least number of images are.
    benchmark.is_pinned, benchmark.min_images = False, 0
    release = freezing.freeze(benchmark.campaign, None)
    truth_versions.compare(benchmark, release)


def removed_count(benchmark: Benchmark) -> int:
    """Return how many images that its campaign asked about were removed for privacy."""
    rows = Image._base_manager.filter(items__questions__campaign=benchmark.campaign_id)
    return rows.exclude(removed_at=None).distinct().count()
