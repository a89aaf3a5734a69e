"""Ground truth out of a frozen release: the very files that `score KIND` reads. No database.

A label of a release is yes, no or unknown, and unknown is never taken for no: what nobody decided
is left out, and counted. Boxes are in pixels of the image, x1 and y1 exclusive; they are cut at the
image's border. Image by image, so memory stays flat.
"""

import csv
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from labeling import exporting, maskfiles
from labeling.errors import Refusal
from labeling.formats import Label, Photo
from labeling.formats.parted import PartedObject
from labeling.frozen import Frozen, Line
from labeling.frozen_labels import Groups
from labeling.geometry import Mask, box_within, mask_of

CLASSIFICATION, LOCALIZATION, DETECTION, WSOL = KINDS = (
    "classification",
    "localization",
    "detection",
    "wsol",
)
# What the readers of WSOL folders take (evaluation/wsol/files.py).
MOST_BOXES = 1000
# Of one part of a path, on most file systems; score maps are files named after images.
LONGEST_NAME_BYTES = 255
# Why an image is in no truth.
SEVERAL = "several classes are in it"
NONE = "no class is in it"
UNKNOWN = "nobody decided on its classes"
NO_BOX = "its class has no box"

Box = tuple[float, float, float, float]
Counts = dict[str, Any]


def write(frozen: Frozen, kind: str, folder: Path, inclusive: bool = False) -> Counts:
    """What `score KIND` reads, into a folder that is there; see count for what comes back.

    classification: truth.csv (image,wnid). localization, detection: truth.csv
    (image,wnid,x0,y0,x1,y1) and images.csv (image,width,height); detection: excluded.csv
    (image,wnid) of what nobody decided. inclusive: boxes with their last pixel as x1, y1. wsol: the
    WSOL folder; of a release with parts masks/ as well, the same with masks in masks/png/.
    Raises Refusal where the release has nothing of the kind.
    """
    raise NotImplementedError


def count(frozen: Frozen, kind: str) -> Counts:
    """{"images", "classes", "objects", "left_out": [{"why", "images"}], "notes"} that write would
    write: nothing is written."""
    raise NotImplementedError
