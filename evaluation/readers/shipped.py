"""Lists of classes and mappings that come with Assay, by a short name. No Django.

data/README.md names their sources.
"""

from pathlib import Path

DATA = Path(__file__).parent / "data"
CLASSES = {"ilsvrc": DATA / "ilsvrc2012.txt"}
MAPPINGS = {"pascal": DATA / "pascal_ilsvrc2012.csv"}

# PASCAL VOC's 20 categories: the synset of each in our vocabulary of parts, and, where they differ,
# the synsets at or below which its classes lie.
PASCAL: dict[str, tuple[str, tuple[str, ...]]] = {
    "aeroplane": ("n02691156", ()),
    "bicycle": ("n02834778", ()),
    "bird": ("n01503061", ()),
    "boat": ("n02858304", ()),
    "bottle": ("n02876657", ()),
    "bus": ("n02924116", ()),
    "car": ("n02958343", ()),
    "cat": ("n02121620", ()),
    "chair": ("n03001627", ()),
    # ILSVRC has no class below cow; cattle and water buffaloes look alike.
    "cow": ("n02403454", ("n02402425", "n02408429")),
    "diningtable": ("n03201208", ()),
    "dog": ("n02084071", ()),
    "horse": ("n02374451", ()),
    "motorbike": ("n03790512", ()),
    "person": ("n00007846", ()),
    # ILSVRC has no class below pot plant, but has flowerpot.
    "pottedplant": ("n11536230", ("n03991062",)),
    "sheep": ("n02411705", ()),
    "sofa": ("n04256520", ()),
    "train": ("n04468005", ()),
    # Television system and monitor are separate synsets.
    "tvmonitor": ("n04404412", ("n04404412", "n03782006")),
}

# The categories of PPS-12 (Sarvadevabhatla et al. 2016). The paper lists eleven; bird is missing.
PPS_12 = [
    "aeroplane",
    "bicycle",
    "bird",
    "bus",
    "car",
    "cat",
    "cow",
    "dog",
    "horse",
    "person",
    "sheep",
    "train",
]


def classes_file(text: str) -> Path:
    """Return the list of classes of that name ("ilsvrc"), else the path."""
    return CLASSES.get(text) or Path(text)


def mapping_file(text: str) -> Path:
    """Return the mapping of that name ("pascal"), else the path."""
    return MAPPINGS.get(text) or Path(text)
