"""Texts about the kinds, settings and numbers of benchmarks on released labels. Pure."""

from typing import NamedTuple

KINDS = {
    "classification": "Classification",
    "localization": "Localization",
    "detection": "Detection",
    "wsol": "WSOL",
}
# The question that a benchmark of each kind answers.
ASKED = {
    "classification": "Is the right class among the first five predictions?",
    "localization": "Is the right class among the first five predictions, with the right box?",
    "detection": "Is each object of each class detected exactly once, without false detections?",
    "wsol": "Do score maps of models trained without boxes show where the object is?",
}
SPLITS = {
    "train-fullsup": "train-fullsup: to choose thresholds and settings; score as often as you like",
    "test": "test: for the final results; score once, further attempts are counted and displayed",
}
PROTOCOLS = {
    "paper": "paper: exact thresholds, box edges exclusive, means over classes",
    "reference": "reference: exactly the results of the authors’ published code",
}
NORMALIZATIONS = {
    "min-max": "min-max: each map is scaled from its lowest to its highest score",
    "max": "max: each map is divided by its highest score; negative scores become 0",
}
# An example submission of each kind: the header of the CSV file (wsol: the file's name), its lines
# (wsol: the files in the zip), and an explanation.
EXAMPLES = {
    "classification": (
        "image,rank,wnid,confidence",
        ("{image},1,{wnid},0.91", "{image},2,n02124075,0.05"),
        "a row for each label of an image, usually five, rank 1 first; confidence is optional",
    ),
    "localization": (
        "image,wnid,confidence,x0,y0,x1,y1",
        ("{image},{wnid},0.91,12,8,140,120",),
        "a row for each label of an image with its box, up to five, most confident first",
    ),
    "detection": (
        "image,wnid,confidence,x0,y0,x1,y1",
        ("{image},{wnid},0.91,12,8,140,120",),
        "a row for each detected object, on images without objects too; COCO’s result JSON also "
        "works",
    ),
    "wsol": (
        "maps.zip",
        ("{image}.npy",),
        "a zip with one .npy for each image, under the image’s id: 2-D floats for the whole image, "
        "higher on the object",
    ),
}


class Measure(NamedTuple):
    """A main number of a submission.

    path: keys of its value in the submission's result. number, case: of the images that the value
    links to (images/outcomes.py).
    """

    key: str
    words: str
    path: tuple[str, ...]
    less_is_better: bool
    number: str
    case: str


# The main numbers of each kind. Submissions are ranked by the first.
LEADS = {
    "classification": (
        Measure("top5_error", "Top-5 error", ("top5_error",), True, "top5_error", "wrong"),
        Measure("top1_error", "Top-1 error", ("top1_error",), True, "top1_error", "wrong"),
        Measure(
            "hierarchical_error",
            "Hierarchical error",
            ("hierarchical_error",),
            True,
            "hierarchical_error",
            "",
        ),
    ),
    "localization": (Measure("error", "Localization error", ("error",), True, "error", "wrong"),),
    "detection": (Measure("mean_ap", "Mean AP", ("mean_ap",), False, "ap", ""),),
    "wsol": (
        Measure("max_box_acc_v2", "MaxBoxAccV2", ("max_box_acc_v2", "mean"), False, "0.5", "right"),
        Measure("max_box_acc", "MaxBoxAcc", ("max_box_acc",), False, "max_box_acc", "right"),
        Measure("pxap", "PxAP", ("pxap",), False, "px_prec", ""),
        Measure("mpxap", "mPxAP", ("mpxap",), False, "px_prec", ""),
    ),
}
# Measures at the first k predictions.
AT_K = {"hp_at_k": "hp@k", "hit_at_k": "hit@k"}
# Threshold curves of score maps: field of a result → name of the measure.
CURVES = {
    "box_acc": "MaxBoxAcc",
    "box_acc_v2": "IoU",
    "px_prec": "PxPrec",
    "px_rec": "PxRec",
    "px_acc": "PxAcc",
}
# The value that each kind states per class; higher is better.
PER_CLASS = {
    "classification": "Accuracy among the first five",
    "localization": "Localization accuracy",
    "detection": "AP",
    "wsol": "PxAP",
}
# The number (images/outcomes.py) of the images that a class's value links to.
CLASS_IMAGES = {
    "classification": "top5_error",
    "localization": "error",
    "detection": "ap",
    "wsol": "px_acc",
}
