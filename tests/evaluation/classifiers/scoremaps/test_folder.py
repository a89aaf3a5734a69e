"""The folder that score maps go to."""

import numpy as np

from evaluation.classifiers.scoremaps.folder import opened


def test_a_folder_is_made_with_those_above_it(tmp_path):
    goal = tmp_path / "maps" / "cam"

    with opened(goal, {"method": "cam"}, ["val/1"]) as folder:
        folder.write("val/1", np.zeros((2, 2), np.float32))

    assert (goal / "val" / "1.npy").is_file()
