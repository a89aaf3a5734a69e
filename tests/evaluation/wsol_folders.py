"""A folder of WSOL users in small: three images of 40 × 20, and a map of 16 × 16 for each."""

from pathlib import Path

import numpy as np

from labeling.geometry import mask_png


class Folder:
    """metadata and maps below root; named are the arguments of `score wsol` for them."""

    names = ("val/a.jpeg", "val/b,c.jpeg", "d.jpeg")

    def __init__(self, root: Path) -> None:
        self.root = root
        self.metadata, self.maps = root / "metadata", root / "maps"
        self.metadata.mkdir()
        a, b, d = self.names
        self.write("image_ids.txt", a, b, d)
        self.write("class_labels.txt", f"{a},0", f"{b},bird", f"{d},0")
        self.write("image_sizes.txt", *(f"{name},40,20" for name in self.names))
        self.write(
            "localization.txt", f"{a},10,5,30,15", f"{b},0,0,5,5", f"{b},20,0,40,20", f"{d},1,1,3,3"
        )
        rng = np.random.default_rng(0)
        for name in self.names:
            self.save(name, rng.random((16, 16)).astype(np.float32))
        self.named: tuple[object, ...] = ("--metadata", self.metadata, "--scoremaps", self.maps)
        self.named += ("--size", 16, "--thresholds", 20)

    def write(self, file: str, *lines: str) -> None:
        (self.metadata / file).write_text("".join(f"{line}\n" for line in lines))

    def save(self, name: str, scores: np.ndarray) -> Path:
        path = self.maps / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, scores)
        return path

    def mask(self) -> "Folder":
        """The same images with masks: two and a region to ignore, one, an empty one."""
        self.masks = self.root / "masks"
        self.masks.mkdir()
        columns = {"a1": (0, 5), "a2": (5, 9), "b": (10, 30), "d": (0, 0), "i": (0, 40)}
        for name, (x0, x1) in columns.items():
            mask = np.zeros((20, 40), bool)
            mask[4:16, x0:x1] = True
            mask_png.write(self.masks / f"{name}.png", mask)
        a, b, d = self.names
        drawn = (f"{a},a1.png,", f"{a},a2.png,i.png", f"{b},b.png,", f"{d},d.png,")
        self.write("localization.txt", *drawn)
        (self.metadata / "image_sizes.txt").unlink()
        self.named += ("--masks", self.masks)
        return self
