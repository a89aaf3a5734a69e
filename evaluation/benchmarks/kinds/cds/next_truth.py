"""A new version of a CDS benchmark's sequences, made of a release."""

from collections.abc import Iterable

from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.changes import CHANGES, write_changes
from evaluation.benchmarks.kinds.cds import people
from evaluation.benchmarks.kinds.cds.versions import Changes, ObjectChange, SequenceHistory
from evaluation.benchmarks.truth_versions import COLLECTING_STATES, NewTruth, VersionReport
from evaluation.models import Benchmark, TruthVersion
from evaluation.readers.sequences import ObjectKey, with_masks
from evaluation.sequences import sequencing
from evaluation.sequences.objects import DrawnObject, drawn_objects
from labeling.disk_full import converting_disk_full
from labeling.models import Release
from labeling.releases import freezing


def next_truth(benchmark: Benchmark, before: TruthVersion, release: Release) -> TruthVersion | None:
    """Return a new version of this release's objects; None if it would not differ.

    Raises BadInput for damaged files, Refusal if files of earlier versions are missing.
    """
    history = SequenceHistory.of(benchmark)
    made = _Sequences(history)
    for _, image_objects in drawn_objects(freezing.read(release)):
        made.add(image_objects)
    if benchmark.campaign.state in COLLECTING_STATES:
        made.keep(truth_versions.unfinished_questions(benchmark.campaign, release))
    changes, waiting = made.changes(), sorted(made.waiting)
    if not changes and waiting == before.report.get("waiting", []):
        return None
    if not history.changes and len(made.after) < benchmark.min_images:
        return None
    gone = [key for key, change in changes.items() if not change.lines]
    kept = changes.keys() & made.before.keys() - set(gone)
    with converting_disk_full(), folders.scratch() as folder:
        version = folder / "version"
        version.mkdir()
        write_changes(version / CHANGES, (change.as_row(key) for key, change in changes.items()))
        new = NewTruth(
            truth_versions.sha256_after(before, release, version / CHANGES),
            added=len(changes) - len(gone) - len(kept),
            removed=len(gone),
            changed=len(kept),
            report=VersionReport(masks_changed=sorted(map("/".join, kept)), waiting=waiting),
        )

        def publish(number: int) -> None:
            folders.publish_version(benchmark, version, number)
            if len(changes) > len(gone):
                people.ask_again(benchmark, number)

        return truth_versions.add(benchmark, before, release, new, publish)


class _Sequences:
    """The objects of a release, in the part orders and with the class mapping of the opening.

    waiting: categories without a part order or a class. after: the objects of the new version.
    """

    def __init__(self, history: SequenceHistory) -> None:
        self.settings = history.benchmark.settings
        self.masks = history.masks()
        self.before = {
            key: ObjectChange(self.masks[key][-1], tuple(lines))
            for key, lines in history.at(history.newest).items()
        }
        self.after: dict[ObjectKey, ObjectChange] = {}
        self.waiting: set[str] = set()

    def add(self, image_objects: Iterable[DrawnObject]) -> None:
        for drawn_object in image_objects:
            key = (drawn_object.photo.name, drawn_object.thing.name)
            masks = drawn_object.sha256
            if key in self.before and self.before[key].masks == masks:
                self.after[key] = self.before[key]
            elif self._is_ordered(drawn_object):
                self.after[key] = self._revealed(drawn_object, key, masks)
            else:
                self.waiting.add(drawn_object.thing.category)

    def _is_ordered(self, drawn_object: DrawnObject) -> bool:
        category, mapping = drawn_object.thing.category, self.settings["mapping"]
        has_class = mapping is None or bool(mapping.get(category))
        return has_class and all(
            set(drawn_object.parts) <= set(order.get(category, ()))
            for order in self.settings["orders"].values()
        )

    def _revealed(self, drawn_object: DrawnObject, key: ObjectKey, masks: str) -> ObjectChange:
        lines = sequencing.object_lines(
            drawn_object,
            self.settings["orders"],
            self.settings["content_schemes"],
            self.settings["include_empty"],
        )
        first = self.masks.get(key, [masks])[0]
        return ObjectChange(masks, tuple(lines if masks == first else with_masks(lines, masks)))

    def keep(self, unfinished: Iterable[ObjectKey]) -> None:
        """Give unfinished objects the lines that they had before, or none."""
        for key in unfinished:
            if key in self.before:
                self.after[key] = self.before[key]
            else:
                self.after.pop(key, None)

    def changes(self) -> Changes:
        """Return the objects that differ; those that are gone come last."""
        changed = {key: row for key, row in self.after.items() if self.before.get(key) != row}
        gone = sorted(self.before.keys() - self.after.keys())
        return changed | dict.fromkeys(gone, ObjectChange())
