"""Modules of job handlers that moved: settings of older sites still name the old ones."""

MOVED = {
    "evaluation.cds.people_frames": "evaluation.benchmarks.kinds.cds.people_frames",
    "evaluation.cds.viewing": "evaluation.benchmarks.kinds.cds.viewing",
    "evaluation.competitions": "evaluation.benchmarks.kinds.mad.competitions",
    "evaluation.runs": "evaluation.benchmarks.runs",
    "labeling.calibrating": "labeling.consensus.calibrating",
    "labeling.drafting": "labeling.follow_ups.opening",
    "labeling.exportfiles": "labeling.exchange.export_files",
    "labeling.following": "labeling.follow_ups.following",
    "labeling.givenfiles": "labeling.exchange.label_files",
    "labeling.images": "labeling.datasets.images",
    "labeling.imports": "labeling.datasets.imports",
    "labeling.part_imports": "labeling.exchange.part_imports",
    "labeling.piloting": "labeling.quality.piloting",
    "labeling.watching": "labeling.quality.monitoring",
}


def current(path: str) -> str:
    """The dotted path of a function today.

    >>> current("labeling.watching.execute")
    'labeling.quality.monitoring.execute'
    """
    module, _, name = path.rpartition(".")
    return f"{MOVED.get(module, module)}.{name}"
