"""Which function does which kind of job, so that labeling.jobs need not know others."""

ASSAY_JOB_HANDLERS = {
    "advance": "labeling.follow_ups.following.execute_advance",
    "calibrate": "labeling.consensus.calibrating.execute",
    "choose proposals": "labeling.follow_ups.proposing.execute",
    "derivatives": "labeling.datasets.images.make_derivatives",
    "export labels": "labeling.exchange.export_files.execute",
    "frame campaign": "evaluation.benchmarks.kinds.cds.people_frames.execute",
    "frames": "evaluation.benchmarks.kinds.cds.viewing.execute",
    "freeze": "labeling.releases.freezing.execute",
    "freeze range": "labeling.releases.ranges.execute",
    "import images": "labeling.datasets.imports.execute",
    "import labels": "labeling.exchange.label_files.execute",
    "import parts": "labeling.exchange.part_imports.execute",
    "look again": "labeling.follow_ups.following.execute_look_again",
    "nightly": "evaluation.benchmarks.runs.execute_nightly",
    "open images": "labeling.follow_ups.opening.execute_open_images",
    "pilot": "labeling.quality.piloting.execute",
    "predict": "evaluation.pools.making.execute",
    "question dropped": "evaluation.benchmarks.kinds.mad.competitions.replace_dropped",
    "score": "evaluation.benchmarks.runs.execute",
    "watch": "labeling.quality.monitoring.execute",
}
