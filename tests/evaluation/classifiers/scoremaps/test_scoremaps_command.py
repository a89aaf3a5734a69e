"""`manage.py scoremaps`: from images to the folder that `score wsol` reads, and what is refused."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.scoremaps import folder as folders
from evaluation.classifiers.scoremaps import making
from evaluation.metrics.attribution.recipes import GRADIENTS
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.scoremaps import detectors
from tests.evaluation.commands import outcome

NETWORKS = "tests.evaluation.classifiers.scoremaps.detectors"
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def folder(tmp_path) -> Path:
    return detectors.world(tmp_path)


@pytest.fixture
def scoremaps(folder, shell):
    """Runs the command: (exit status, result or error, what was warned or said last)."""

    def run(method="cam", *options: object, out="maps", **keywords: object):
        flags = {
            "model": f"{NETWORKS}:Colours",
            "classes": folder / "classes.txt",
            "images": folder / "images",
            "batch": 4,
        } | keywords
        return outcome(shell(
            "scoremaps", "--method", method, "--metadata", folder / "metadata",
            "--out", folder / out, *options, "--json",
            *(part for key, value in flags.items() if value is not None
              for part in (f"--{key.replace('_', '-')}", value)),
        ))  # fmt: skip

    return run


def maps_of(folder: Path, out="maps") -> dict[str, np.ndarray]:
    base = folder / out
    return {
        path.relative_to(base).as_posix(): np.load(path, allow_pickle=False)
        for path in sorted(base.rglob("*.npy"))
    }


def score(shell, folder: Path, *options: object, out="maps"):
    status, printed, err = shell(
        "score", "wsol", "--scoremaps", folder / out, "--metadata", folder / "metadata",
        *options, "--json",
    )  # fmt: skip
    assert status == 0, err
    return json.loads(printed)


# End to end.


@pytest.mark.parametrize("protocol", ["paper", "reference"])
def test_the_maps_of_a_network_that_finds_colours_find_every_object(
    folder, scoremaps, shell, protocol
):
    status, report = scoremaps()

    score_of_maps = score(shell, folder, "--protocol", protocol)
    assert (status, score_of_maps["images"]) == (0, 6)
    assert score_of_maps["max_box_acc"]["accuracy"] == 1
    assert score_of_maps["max_box_acc_v2"]["0.7"]["accuracy"] == 1
    assert (report["made"], report["resumed"], report["constant"]) == (6, 0, 0)
    assert report["recipe"] == {
        "method": "cam", "smooth": 0.0, "target": "true", "grid": None, "map_size": 224,
        "resize": "bilinear", "orientation": "upright",
    }  # fmt: skip


@pytest.mark.parametrize("method", [*GRADIENTS, "center-gaussian"])
def test_every_method_writes_what_the_evaluator_reads(folder, scoremaps, shell, method):
    without = {"model": None, "classes": None, "images": None}
    keywords = without if method == "center-gaussian" else {}
    samples = ("--samples", 3) if "-" in method and not keywords else ()

    status, report = scoremaps(method, *samples, **keywords)

    assert (status, report["made"]) == (0, 6)
    maps = maps_of(folder)
    assert {(score_map.shape, score_map.dtype.name) for score_map in maps.values()} == {
        ((224, 224), "float32")
    }
    assert set(maps) == {f"{detectors.CLASSES[n % 3]}/{n}.png.npy" for n in range(6)}
    assert score(shell, folder, "--protocol", "reference")["images"] == 6


def test_a_center_gaussian_in_files_scores_as_the_baseline(folder, scoremaps, shell):
    scoremaps("center-gaussian", model=None, classes=None, images=None)

    score_of_maps = score(shell, folder)

    _, printed, _ = shell(
        "score", "wsol", "--baseline", "center-gaussian",
        "--metadata", folder / "metadata", "--json",
    )  # fmt: skip
    baseline = json.loads(printed)
    assert score_of_maps["max_box_acc_v2"]["mean"] == baseline["max_box_acc_v2"]["mean"]


def test_a_map_is_that_of_the_true_class_or_of_the_predicted_one(folder, scoremaps):
    labels = folder / "metadata" / "class_labels.txt"
    labels.write_text(labels.read_text().replace("red/0.png,red", "red/0.png,blue"))
    scoremaps(out="true")
    scoremaps("cam", "--target", "predicted", out="predicted")

    true_map, predicted_map = (
        maps_of(folder, out)["red/0.png.npy"] for out in ("true", "predicted")
    )

    # A red box says nothing of blue.
    assert true_map.max() == 0
    assert predicted_map.max() > 0


def test_classes_may_be_numbers(folder, scoremaps):
    scoremaps(out="named")
    labels = folder / "metadata" / "class_labels.txt"
    text = labels.read_text()
    for n, name in enumerate(detectors.CLASSES):
        text = text.replace(f",{name}\n", f",{n}\n")
    labels.write_text(text)

    status, _ = scoremaps(classes=3, out="made/with it/numbered")

    assert status == 0
    maps_by_name, numbered = maps_of(folder, "named"), maps_of(folder, "made/with it/numbered")
    assert all(np.array_equal(maps_by_name[name], numbered[name]) for name in maps_by_name)


def test_what_the_network_names_gives_top_1_localization(folder, scoremaps, shell):
    labels = folder / "metadata" / "class_labels.txt"
    labels.write_text(labels.read_text().replace("red/0.png,red", "red/0.png,blue"))

    status, _ = scoremaps("cam", "--predictions", folder / "named.csv")

    assert status == 0
    rows = (folder / "named.csv").read_text().splitlines()
    assert rows == [f"{name}/{n}.png,{name}" for n, name in enumerate(detectors.CLASSES * 2)]
    score_of_maps = score(shell, folder, "--predictions", folder / "named.csv")
    assert score_of_maps["top1_accuracy"] == 5 / 6


@pytest.mark.parametrize("side", [14, 28])
def test_a_grid_may_be_asked_for_and_left_as_it_is(folder, scoremaps, side):
    status, _ = scoremaps("cam", "--resize", "none", "--grid", side, model=f"{NETWORKS}:Strided")

    assert status == 0
    assert {score_map.shape for score_map in maps_of(folder).values()} == {(side, side)}


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_the_batch_changes_nothing(folder, scoremaps, batch):
    options = ("--samples", 3, "--smooth", "--size", 64)
    scoremaps("vanilla-smoothgrad", *options, model=f"{NETWORKS}:Strided", out="first")

    scoremaps("vanilla-smoothgrad", *options, model=f"{NETWORKS}:Strided", batch=batch)

    expected = maps_of(folder, "first")
    for name, score_map in maps_of(folder).items():
        assert np.allclose(score_map, expected[name], rtol=1e-4, atol=1e-9)


def test_integrated_gradients_begin_with_black_as_the_network_takes_it(folder, scoremaps):
    options = ("--samples", 4, "--times-input", "--channels", "sum", "--resize", "none")
    colours = ("--mean", "0.5,0.4,0.3", "--std", "0.2,0.3,0.4")

    status, _ = scoremaps("vanilla-integrated", *options, *colours)

    assert status == 0
    network = detectors.Colours()
    mean, std = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.3, 0.4])
    pixels = np.array(Image.open(folder / "images" / "blue" / "2.png"))
    image = (torch.from_numpy(pixels).permute(2, 0, 1) / 255 - mean[:, None, None]) / std[
        :, None, None
    ]
    black = (-mean / std)[:, None, None].expand(image.shape)
    with torch.no_grad():
        gained = network(image[None])[0, 2] - network(black[None])[0, 2]
    # Complete: a ReLU has two straight pieces, so four steps are nearly exact.
    assert maps_of(folder)["blue/2.png.npy"].sum() == pytest.approx(float(gained), rel=0.1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_gradients_come_through_torchscript_and_maps_through_exported_programs(folder, scoremaps):
    network = detectors.Colours().eval()
    networks.scripted(folder / "colours.pt", network)
    program = torch.export.export(network, (torch.zeros(2, 3, 224, 224),))
    torch.export.save(program, folder / "colours.pt2")

    scoremaps("vanilla", model=folder / "colours.pt", out="scripted")
    scoremaps("vanilla", out="vanilla")
    scoremaps("cam", model=folder / "colours.pt2", batch=2, out="exported")
    scoremaps("cam", out="cam")

    for first_folder, second_folder in (("scripted", "vanilla"), ("exported", "cam")):
        first_maps, second_maps = maps_of(folder, first_folder), maps_of(folder, second_folder)
        assert len(first_maps) == 6
        assert all(
            np.allclose(first_maps[name], second_maps[name], atol=1e-6) for name in second_maps
        )


def test_maps_are_told_as_a_person_reads_them(folder, shell):
    status, out, _ = shell(
        "scoremaps", "--method", "center-gaussian", "--map-size", 32,
        "--metadata", folder / "metadata", "--out", folder / "maps",
    )  # fmt: skip

    assert status == 0
    assert "recipe map size  32" in out


# Stopped and gone on with.


def test_a_stopped_run_goes_on_and_ends_with_the_same_maps(folder, scoremaps, monkeypatch):
    scoremaps("vanilla-smoothgrad", "--samples", 4, out="whole")
    kept = folders.Folder.write
    written = []

    def failing(self, name, scores):
        if len(written) == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        written.append(name)
        kept(self, name, scores)

    monkeypatch.setattr(folders.Folder, "write", failing)
    status, report = scoremaps("vanilla-smoothgrad", "--samples", 4)
    assert (status, report["error"]) == (1, "input/output error")
    monkeypatch.setattr(folders.Folder, "write", kept)
    # As kill -9 leaves them: half a file under its last name, and one under a first one.
    half = folder / "maps" / f"{written[0]}.npy"
    half.write_bytes(half.read_bytes()[:1000])
    (half.parent / ".x.npy.abc.part").write_bytes(b"half")

    status, report = scoremaps("vanilla-smoothgrad", "--samples", 4)

    assert (status, report["resumed"], report["made"]) == (0, 2, 4)
    maps, whole_maps = maps_of(folder), maps_of(folder, "whole")
    assert maps.keys() == whole_maps.keys()
    assert all(np.array_equal(maps[name], whole_maps[name]) for name in whole_maps)
    assert not list((folder / "maps").rglob("*.part"))


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("cam", ("--smooth",), "was begun with another recipe"),
        ("vanilla", (), "was begun with another recipe"),
        ("cam", ("--size", 112), "was begun with another preparation"),
    ],
)
def test_other_settings_than_those_of_the_folder_are_refused(
    folder, scoremaps, method, options, message
):
    scoremaps()
    before = maps_of(folder)

    status, report = scoremaps(method, *options)

    assert (status, report["error"]) == (1, message)
    assert report["cure"] == "give the same as before to go on, or give another --out"
    assert all(
        np.array_equal(before[name], score_map) for name, score_map in maps_of(folder).items()
    )


def test_other_weights_and_other_labels_are_refused_too(folder, scoremaps):
    scoremaps()
    torch.save(detectors.Colours().double().state_dict(), folder / "weights.pt")
    state = torch.load(folder / "weights.pt", weights_only=True)
    torch.save({name: value + 1 for name, value in state.items()}, folder / "weights.pt")

    status, report = scoremaps(weights=folder / "weights.pt")
    assert (status, report["error"]) == (1, "was begun with another model")
    labels = folder / "metadata" / "class_labels.txt"
    labels.write_text(labels.read_text().replace("red/0.png,red", "red/0.png,blue"))
    status, report = scoremaps()
    assert (status, report["error"]) == (1, "was begun with another class labels")


def test_a_folder_of_other_or_unknown_maps_or_of_another_run_is_refused(folder, scoremaps):
    scoremaps()
    extra, settings = folder / "maps" / "other.npy", folder / "maps" / "settings.json"

    with open(settings) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert scoremaps()[1]["error"] == "another run is at it"
    extra.write_bytes(b"x")
    status, report = scoremaps()
    assert (status, report["error"]) == (1, "belongs to no id of image_ids.txt")
    assert report["file"] == str(extra)
    settings.write_text("{")
    assert scoremaps()[1]["error"] == "has no settings of a run"
    settings.unlink()
    assert scoremaps()[1]["error"] == "has score maps made with other settings"
    assert not settings.exists()


SLOW = """
import time
from tests.evaluation.classifiers.scoremaps.detectors import Colours

class Slow(Colours):
    def forward(self, images):
        time.sleep(0.2)
        return super().forward(images)
"""


@pytest.mark.ci
def test_a_killed_command_goes_on(folder):
    (folder / "slow.py").write_text(SLOW)
    command = [
        sys.executable, "manage.py", "scoremaps", "--method", "vanilla", "--model", "slow:Slow",
        "--images", folder / "images", "--metadata", folder / "metadata", "--batch", "1",
        "--classes", folder / "classes.txt", "--out", folder / "maps", "--json",
    ]  # fmt: skip
    surroundings = {
        "PYTHONPATH": f"{folder}:{ROOT}",
        "PATH": "/usr/bin:/bin",
        "SECRET_KEY": "of this test",
        "ASSAY_DATA": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    there = 0
    for blow, status in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        running = subprocess.Popen(
            command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        until = time.monotonic() + 60
        while len(list((folder / "maps").rglob("*.npy"))) < there + 2 and time.monotonic() < until:
            time.sleep(0.01)
        running.send_signal(blow)
        _, err = running.communicate(timeout=60)
        assert running.returncode == status
        assert b"Traceback" not in err
        there = len(maps_of(folder))

    done = subprocess.run(
        command, cwd=ROOT, env=surroundings, capture_output=True, timeout=120, check=True
    )

    report = json.loads(done.stdout)
    assert report["resumed"] == there >= 4
    assert report["made"] == 6 - there
    assert len(maps_of(folder)) == 6


# What is refused.


@pytest.mark.parametrize(
    ("method", "options", "keywords", "message"),
    [
        ("cam", ("--samples", 3), {}, "--samples does not go with cam"),
        ("vanilla", ("--grid", 14), {}, "--grid does not go with vanilla"),
        ("vanilla-integrated", ("--seed", 0), {}, "--seed does not go with vanilla-integrated"),
        ("guided", ("--times-input",), {}, "--times-input does not go with guided"),
        ("cam", (), {"model": None}, "cam needs --model"),
        ("center-gaussian", (), {}, "--model does not go with center-gaussian"),
        ("cam", ("--smooth-as", "window"), {}, "--smooth-as goes with --smooth"),
        ("cam", ("--smooth", "-1"), {}, "is not a number from 0 to 10000"),
        ("cam", ("--map-size", 0), {}, "'0' is not a whole number from 1 to 4096"),
        ("vanilla-smoothgrad", ("--samples", 1001), {}, "not a whole number from 1 to 1000"),
        ("vanilla-smoothgrad", ("--seed", 2**63), {}, "is not a whole number from 0"),
        ("gradcam", (), {}, "invalid choice: 'gradcam'"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(
    scoremaps, method, options, keywords, message
):
    status, report = scoremaps(method, *options, **keywords)

    assert status == 2
    assert message in report


@pytest.mark.parametrize(
    ("method", "model", "message"),
    [
        ("cam", "Tokens", "not class weights times the mean of a feature map"),
        ("guided", "Tokens", "no ReLU of it was met"),
        ("vanilla", "Blind", "no gradient comes from its outputs"),
        ("vanilla", "Broken", "gives no numbers in the map of red/0.png"),
        ("cam", "failing", "cannot be made (KeyError: 'no such configuration')"),
    ],
)
def test_a_network_that_does_not_suit_is_refused(folder, scoremaps, method, model, message):
    status, report = scoremaps(method, model=f"{NETWORKS}:{model}")

    assert status == 1
    assert message in report["error"]
    assert report["cure"]
    assert not list(folder.rglob("*.npy"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("cam", (), "not class weights times the mean"),
        ("guided-integrated", (), "no ReLU of it was met"),
        ("cam", ("--grid", 14), "its strides stand fast in its file"),
    ],
)
def test_torchscript_hides_its_layers(folder, scoremaps, method, options, message):
    networks.scripted(folder / "colours.pt", detectors.Colours().eval())

    status, report = scoremaps(method, *options, model=folder / "colours.pt")

    assert status == 1
    assert message in report["error"]
    assert "package.module:factory" in report["cure"]


def test_an_exported_program_for_fewer_images_at_once_says_how_many(folder, scoremaps):
    program = torch.export.export(detectors.Colours().eval(), (torch.zeros(2, 3, 224, 224),))
    torch.export.save(program, folder / "colours.pt2")

    status, report = scoremaps("cam", model=folder / "colours.pt2", batch=6)

    assert status == 1
    assert "takes 2 images at once" in report["error"]
    assert report["cure"] == "give --batch as many as it takes"


def test_onnx_gives_no_gradients(folder, scoremaps):
    pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    networks.onnx(folder / "colours.onnx", size=224)

    for method in ("vanilla", "cam"):
        status, report = scoremaps(method, model=folder / "colours.onnx")
        assert status == 1
        assert "ONNX" in report["error"]


def test_images_that_cannot_be_used_are_named(folder, scoremaps):
    image = folder / "images" / "green" / "1.png"
    kept = image.read_bytes()
    image.write_bytes(kept[:200])

    status, report = scoremaps(batch=1)
    assert (status, report["file"]) == (1, str(image))
    assert report["error"].startswith("cannot be read as an image")
    status, report = scoremaps("cam", "--orientation", "stored", batch=1, out="stored")
    assert (status, report["file"]) == (1, str(image))
    image.unlink()
    status, report = scoremaps()
    assert (status, report["error"], report["file"]) == (1, "the image is missing", str(image))
    image.write_bytes(kept)
    # What was whole before stays: one map of the first try.
    status, report = scoremaps(batch=1)
    assert (status, report["resumed"]) == (0, 1)


def test_a_turned_image_is_shown_upright_unless_its_size_says_otherwise(folder, scoremaps):
    exif = Image.Exif()
    exif[0x0112] = 6
    image_path = folder / "images" / "red" / "0.png"
    Image.new("RGB", (100, 224), (200, 20, 20)).save(image_path, exif=exif)
    sizes = folder / "metadata" / "image_sizes.txt"
    sizes.write_text(sizes.read_text().replace("red/0.png,224,224", "red/0.png,100,224"))

    status, report = scoremaps()

    assert (status, report["error"]) == (1, "is 224 × 100, image_sizes.txt says 100 × 224")
    assert report["cure"].startswith("give --orientation stored")
    assert scoremaps("cam", "--orientation", "stored", out="stored")[0] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("red\ngreen\n", "of the class 'blue'"),
        ("red\ngreen\nred\n", "red is already in line 1"),
        ("red\n\nblue\n", "the line is empty"),
        ("", "there are no classes"),
        ("red\ngreen\nblue\npink\n", "the classes are 4"),
        (0, "0 classes"),
        (2, "of the class 'red'"),
    ],
)
def test_classes_that_are_not_the_networks_are_refused(folder, scoremaps, content, message):
    path = folder / "classes.txt"
    path.write_text(str(content))

    status, report = scoremaps(classes=content if isinstance(content, int) else path)

    assert status == 1
    assert message in report["error"]
    assert not list(folder.rglob("*.npy"))


def test_a_full_disk_is_told_and_leaves_no_half_map(folder, scoremaps, monkeypatch):
    def full(file, scores, allow_pickle):
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(folders.np, "save", full)
    status, report = scoremaps()
    monkeypatch.undo()

    assert status == 1
    assert report["error"].startswith("The disk is full.")
    assert [path.name for path in (folder / "maps").rglob("*") if path.is_file()] == [
        "settings.json"
    ]


def test_constant_maps_are_counted_and_warned_of(folder, shell):
    labels = folder / "metadata" / "class_labels.txt"
    labels.write_text(labels.read_text().replace("red/0.png,red", "red/0.png,blue"))

    status, out, err = shell(
        "scoremaps", "--method", "cam", "--metadata", folder / "metadata", "--json",
        "--images", folder / "images", "--classes", folder / "classes.txt",
        "--model", f"{NETWORKS}:Colours", "--out", folder / "maps",
    )  # fmt: skip

    assert status == 0
    assert json.loads(out)["constant"] == 1
    assert "1 of the maps are constant" in err


@pytest.mark.parametrize("method", ["cam", "vanilla-smoothgrad"])
def test_a_gpu_that_holds_fewer_at_once_makes_the_same_maps(
    folder, scoremaps, monkeypatch, caplog, method
):
    options = ("--samples", 4, "--predictions", folder / "named.csv")
    options = options if method != "cam" else options[2:]
    scoremaps(method, *options, out="whole")
    classes_before = (folder / "named.csv").read_text()
    outputs = Classifier.outputs

    def small(self, batch):
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return outputs(self, batch)

    monkeypatch.setattr(Classifier, "outputs", small)
    status, _ = scoremaps(method, *options, out="halved")

    assert status == 0
    halved = maps_of(folder, "halved")
    for name, scores in maps_of(folder, "whole").items():
        np.testing.assert_allclose(halved[name], scores, rtol=1e-4, atol=1e-6)
    assert (folder / "named.csv").read_text() == classes_before
    assert "the GPU ran out of memory; going on with 2 at once" in caplog.messages


def test_memory_that_does_not_hold_one_image_says_so(scoremaps, monkeypatch):
    def exhausted(*_: object) -> None:
        raise torch.OutOfMemoryError("out of memory. Tried to allocate 3 TiB")

    monkeypatch.setattr(making, "score_maps", exhausted)
    status, report = scoremaps()

    assert status == 1
    assert report["error"] == "the GPU's memory does not hold one image"
    assert "--device cpu" in report["cure"]


def test_an_onnx_file_is_looked_at_before_it_is_opened(folder, scoremaps, monkeypatch):
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("was opened"))

    status, report = scoremaps(model=networks.onnx_outside(folder / "outside.onnx"))

    assert (status, report["error"]) == (1, "has tensors in other files")
