from pathlib import Path

import pytest

from evaluation.scoring.wsol.splits import FULL, TEST, WEAK
from evaluation.wsol_study.running import made_data
from evaluation.wsol_study.running.parts import StudyData


@pytest.fixture(scope="session")
def drawn(tmp_path_factory) -> Path:
    """A folder with few drawn images of eight classes."""
    folder = tmp_path_factory.mktemp("drawn")
    made_data.write(folder, {WEAK: 4, FULL: 3, TEST: 2})
    return folder


def data_of(folder: Path) -> StudyData:
    return StudyData(
        images=str(folder / "images"),
        metadata=str(folder / "metadata"),
        masks=None,
        classes=[f"class{number}" for number in range(made_data.CLASSES)],
    )


@pytest.fixture
def data(drawn) -> StudyData:
    return data_of(drawn)
