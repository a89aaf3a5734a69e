"""Drawn parts as cues of classes: cues.csv, which `score wsol-cues` reads. No database.

A cue is the key of a part, and each drawn part is one patch. Source: Choe et al. (2022), §3.3,
where cues are latent; parts stand for them here.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from evaluation.benchmarks.kinds.labeled.truth.scenes import LabeledScene
from evaluation.scoring.wsol.cues import COLUMNS, MAX_CUES, REGIONS

CUES = "cues.csv"


class PartCues:
    """Counts of drawn parts over the images of a release, images of several classes included."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        # By class of the image, and by class of the object.
        self.in_images: dict[str, Counter[str]] = defaultdict(Counter)
        self.of_objects: dict[str, set[str]] = defaultdict(set)

    def add(self, scene: LabeledScene) -> None:
        for thing in scene.objects:
            drawn = [part.key for part in thing.parts if part.polygons]
            self.total.update(drawn)
            self.of_objects[thing.category].update(drawn)
            for key in scene.boxes:
                self.in_images[key].update(drawn)

    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """Yield the header and the cues of each class with cues in both regions; nothing without
        such a class.

        A part of the class's own objects is foreground, any other background.
        """
        foreground, background = REGIONS
        lines: list[tuple[str | int, ...]] = []
        cues = sorted(cue for cue, _ in self.total.most_common(MAX_CUES))
        for key, counts in sorted(self.in_images.items()):
            own_parts = self.of_objects[key]
            if own_parts.isdisjoint(cues) or own_parts.issuperset(cues):
                continue
            for cue in cues:
                region = foreground if cue in own_parts else background
                lines.append((key, cue, region, counts[cue], self.total[cue] - counts[cue]))
        if lines:
            yield COLUMNS
            yield from lines
