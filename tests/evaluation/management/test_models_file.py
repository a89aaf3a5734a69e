"""Several models in one call: `--model` again, and `--models models.yaml`."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.models import RegisteredModel
from tests.evaluation.cds import scenes
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.networks import CLASSES
from tests.evaluation.classifiers.predicting import pictures
from tests.evaluation.classifiers.scoremaps import detectors

SHOWN = ("--content-scheme", "intra-object")
DEVICE = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """colours.pt and models.yaml: as it is, and smaller, shifted and with its classes reversed."""
    networks.with_classes(tmp_path)
    (tmp_path / "reversed.txt").write_text("".join(f"{wnid}\n" for wnid in CLASSES[::-1]))
    (tmp_path / "models.yaml").write_text(
        "plain: {file: colours.pt, size: 8, fit: squash}\n"
        "shifted:\n  file: colours.pt\n  size: [4, 6]\n  mean: [.9, 0, 0]\n  std: [.5, .5, .5]\n"
        "  fit: pad\n  classes: reversed.txt\n"
    )
    return tmp_path


def pool(shell, folder: Path, out: str, *options: object) -> dict[str, np.ndarray]:
    shell.result("predict", folder / "images", "--out", folder / out, *DEVICE, *options)
    classes = (folder / out / "classes.txt").read_text().split()
    arrays = {}
    for file in (folder / out).glob("*.labels.npy"):
        name = file.name.removesuffix(".labels.npy")
        arrays[name] = np.array(classes)[np.load(file)]
        arrays[f"{name} sure"] = np.load(folder / out / f"{name}.confidences.npy")
    return arrays


def assert_same(together: dict[str, np.ndarray], name: str, alone: dict[str, np.ndarray]) -> None:
    assert together[name].tolist() == alone[name].tolist()
    assert together[f"{name} sure"].tolist() == alone[f"{name} sure"].tolist()


@pytest.mark.parametrize("tasks", [(), ("--on", "local:1")])
def test_predict_prepares_for_each_model_by_itself(folder, shell, tasks):
    pictures.folder(folder / "images", 12)
    model, classes = folder / "colours.pt", folder / "wnids.txt"

    together = pool(
        *(shell, folder, "pool", "--models", folder / "models.yaml", "--classes", classes, *tasks)
    )

    plain = ("--model", f"plain={model}", "--size", 8, "--fit", "squash", "--classes", classes)
    assert_same(together, "plain", pool(shell, folder, "a", *plain))
    shifted = ("--model", f"shifted={model}", "--size", "4x6", "--fit", "pad", "--mean", ".9,0,0")
    backwards = ("--std", ".5,.5,.5", "--classes", folder / "reversed.txt")
    assert_same(together, "shifted", pool(shell, folder, "b", *shifted, *backwards))
    assert len(set(together["shifted"])) > 1


@pytest.mark.parametrize("tasks", [(), ("--on", "local:1")])
def test_classify_takes_every_model(folder, shell, tasks):
    scenes.cats_and_cow(folder)
    release = (folder / "release", "--images", folder / "images", *SHOWN)
    classes = ("--classes", folder / "wnids.txt")

    def rows(out: str, *options: object) -> list[dict[str, str]]:
        shell.result("classify", *release, "--out", folder / out, *DEVICE, *options)
        with open(folder / out, newline="") as file:
            return list(csv.DictReader(file))

    a, b = f"a={folder / 'colours.pt'}", f"b={folder / 'colours.pt'}"
    both = rows("both.csv", "--model", a, "--model", b, *classes, "--size", 8, *tasks)
    alone = rows("a.csv", "--model", a, *classes, "--size", 8)
    from_file = rows("listed.csv", "--models", folder / "models.yaml", *classes, *tasks)

    assert [row for row in both if row["classifier"] == "a"] == alone
    assert [row | {"classifier": "a"} for row in both if row["classifier"] == "b"] == alone
    names = {row["classifier"] for row in from_file}
    assert (names, len(from_file)) == ({"plain", "shifted"}, 2 * len(alone))


def test_scoremaps_writes_a_folder_for_each_model(tmp_path, shell):
    folder = detectors.world(tmp_path)
    (folder / "models.yaml").write_text(
        "a: {file: 'tests.evaluation.classifiers.scoremaps.detectors:Colours'}\n"
        "b: {file: 'tests.evaluation.classifiers.scoremaps.detectors:Colours', std: [2, 2, 2]}\n"
    )

    result = shell.result(
        *("scoremaps", "--method", "cam", "--metadata", folder / "metadata", *DEVICE),
        *("--images", folder / "images", "--classes", folder / "classes.txt"),
        *("--models", folder / "models.yaml", "--out", folder / "maps"),
    )

    stds = {
        name: classifier["preparation"]["std"] for name, classifier in result["classifiers"].items()
    }
    assert stds == {"a": [1, 1, 1], "b": [2, 2, 2]}
    assert {path.name for path in (folder / "maps").iterdir()} == {"a", "b"}


@pytest.mark.django_db
def test_models_of_a_file_are_registered_by_their_names(folder, shell):
    shell.result(
        *("models", "register", "--models", folder / "models.yaml"),
        *("--classes", folder / "wnids.txt"),
    )

    rows = {row.name: row for row in RegisteredModel.objects.all()}
    assert rows.keys() == {"plain", "shifted"}
    assert rows["shifted"].classes == CLASSES[::-1]
    assert {"--size=4x6", "--mean=0.9,0.0,0.0", "--fit=pad"} <= set(rows["shifted"].options)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "names no models", None),
        ("- a\n", "names no models", None),
        ("a: {size: 8}\n", "a names no file", 1),
        ("a: {file: x.pt}\nb: {file: x.pt, sise: 8}\n", "unknown key 'sise'", 2),
        ("a: {file: x.pt, size: 0}\n", "the size is 0", 1),
        ("a: {file: x.pt, mean: [1, 2]}\n", "the mean is [1, 2]", 1),
        ("a: {file: x.pt, fit: stretch}\n", "the fit is 'stretch'", 1),
        ("a: {file: x.pt}\na: {file: y.pt}\n", "YAML", 2),
        ("a: {file: [\n", "YAML", 1),
    ],
)
def test_a_file_of_models_at_fault_is_refused(folder, shell, text, words, line):
    (folder / "models.yaml").write_text(text)
    (folder / "images").mkdir()

    status, _, err = shell(
        *("predict", folder / "images", "--models", folder / "models.yaml", "--json"),
        *("--classes", folder / "wnids.txt", "--out", folder / "pool"),
    )

    refusal = json.loads(err.splitlines()[-1])
    assert (status, refusal["line"]) == (1, line)
    assert words in refusal["error"]
