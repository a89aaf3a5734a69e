"""Classifiers from files and by name: what they give, and what is refused."""

import sys
import types

import pytest
import torch
from torch import nn

from evaluation.classifiers import opening
from evaluation.classifiers.preparing import FramePreparation
from labeling.files import BadInput
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.networks import CLASSES, Colours, Sure


def batch_of(classifier, count=5):
    """Prepared noise, the same each time."""
    chance = torch.Generator().manual_seed(3)
    frames = torch.randint(0, 256, (count, 12, 10, 3), generator=chance, dtype=torch.uint8)
    return torch.stack([classifier.prepare(frame) for frame in frames])


def needs(library):
    return pytest.importorskip(library, reason=f"{library} is not installed")


def test_a_torchscript_file_gives_probabilities_of_its_logits(tmp_path):
    path = networks.scripted(tmp_path / "colours.pt")

    opened = opening.load(str(path), CLASSES, preparing={"size": (8, 8)})

    batch = batch_of(opened)
    assert torch.allclose(opened(batch), (batch.mean((2, 3)) * 4).softmax(1))
    assert opened.name == "colours"
    assert opened.classes == tuple(CLASSES)
    assert opened.source["gives"] == "logits"
    assert len(opened.source["sha256"]) == 64


def test_a_frozen_torchscript_file_works_too(tmp_path):
    with networks._quiet():
        module = torch.jit.freeze(torch.jit.script(Colours().eval()))
        torch.jit.save(module, tmp_path / "frozen.pt")

    opened = opening.load(str(tmp_path / "frozen.pt"), CLASSES)

    assert opened(batch_of(opened)).shape == (5, 3)


def test_probabilities_are_left_as_they_are(tmp_path):
    path = networks.scripted(tmp_path / "sure.pt", Sure())

    opened = opening.load(str(path), CLASSES, preparing={"size": (8, 8)})

    batch = batch_of(opened)
    assert opened.gives == "probabilities"
    assert torch.equal(opened(batch), batch.mean((2, 3)).softmax(1))


def test_further_outputs_of_auxiliary_heads_are_passed_over(tmp_path):
    class Heads(nn.Module):
        def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return images.mean((2, 3)), images

    opened = opening.load(str(networks.scripted(tmp_path / "heads.pt", Heads())), CLASSES)

    assert opened(batch_of(opened)).shape == (5, 3)


@pytest.mark.parametrize("count", [None, 3])
def test_an_exported_program_takes_any_number_of_images_in_its_own_size(tmp_path, count):
    path = networks.exported(tmp_path / "colours.pt2", count)

    opened = opening.load(str(path), CLASSES)

    batch = batch_of(opened)
    assert batch.shape == (5, 3, 8, 8)
    assert torch.allclose(opened(batch), (batch.mean((2, 3)) * 4).softmax(1))
    assert torch.allclose(opened(batch[:1]), opened(batch)[:1])


@pytest.mark.parametrize(("count", "form"), [("n", "FLOAT"), (2, "FLOAT"), ("n", "FLOAT16")])
def test_an_onnx_file_takes_any_number_of_images_in_its_own_size(tmp_path, count, form):
    needs("onnx"), needs("onnxruntime")
    path = networks.onnx(tmp_path / "colours.onnx", count, form=form)

    opened = opening.load(str(path), CLASSES)

    batch = batch_of(opened)
    assert batch.shape == (5, 3, 8, 8)
    expected = (batch.mean((2, 3)) * 4).softmax(1)
    assert torch.allclose(opened(batch), expected, atol=1e-6 if form == "FLOAT" else 2e-3)


def test_an_onnx_file_that_takes_any_size_is_given_the_default(tmp_path):
    needs("onnx"), needs("onnxruntime")
    path = networks.onnx(tmp_path / "colours.onnx", size="side")

    assert opening.load(str(path), CLASSES).preparation.size == (224, 224)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ({"form": "UINT8"}, r"takes tensor\(uint8\), expected floating-point"),
        ({"count": 2, "size": 8, "wrong": True}, "cannot be read as ONNX"),
    ],
)
def test_an_onnx_file_that_takes_something_else_is_refused(tmp_path, make, message):
    needs("onnx"), needs("onnxruntime")
    path = tmp_path / "colours.onnx"
    if make.pop("wrong", False):
        path.write_bytes(b"hello")
    else:
        networks.onnx(path, **make)

    with pytest.raises(BadInput, match=message):
        opening.load(str(path), CLASSES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "not a network that torch saved"),
        ("state", "weights without a network; .*--weights FILE"),
        ("module", "weights without a network"),
    ],
)
def test_a_file_that_is_no_network_is_refused_before_anything_in_it_runs(
    tmp_path, content, message
):
    path = tmp_path / "model.pt"
    if content == b"hello":
        path.write_bytes(content)
    else:
        torch.save(Colours().state_dict() if content == "state" else Colours(), path)

    with pytest.raises(BadInput, match=message):
        opening.load(str(path), CLASSES)


def test_an_address_is_no_model():
    with pytest.raises(BadInput, match=r"s3://bucket/m\.pt: is an address, expected a path"):
        opening.load("s3://bucket/m.pt", CLASSES)


def test_a_missing_file_says_what_a_model_may_be(tmp_path):
    with pytest.raises(BadInput, match=r"missing; give torchvision:NAME, timm:NAME, or a \.pt"):
        opening.load(str(tmp_path / "none.pt"), CLASSES)


def test_another_number_of_outputs_than_classes_is_refused(tmp_path):
    path = networks.scripted(tmp_path / "colours.pt")

    with pytest.raises(BadInput, match="gives 2 × 3 for two images, the classes are 2; list one"):
        opening.load(str(path), CLASSES[:2])


def test_a_network_of_another_size_says_so(tmp_path):
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(3 * 16, 3)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.last(images.flatten(1))

    path = networks.scripted(tmp_path / "fixed.pt", Fixed())

    with pytest.raises(BadInput, match=r"does not take images of 3 × 224 × 224 .*--size"):
        opening.load(str(path), CLASSES)
    assert opening.load(str(path), CLASSES, preparing={"size": (4, 4)}).gives == "logits"


def test_a_network_that_gives_no_tensor_is_refused(tmp_path):
    class Named(nn.Module):
        def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"logits": images.mean((2, 3))}

    with pytest.raises(BadInput, match="gives a dict, expected"):
        opening.load(str(networks.scripted(tmp_path / "named.pt", Named())), CLASSES)


def fail(outputs: torch.Tensor) -> torch.Tensor:
    raise ValueError("only two")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fail, "colours does not take 5 images at once .*only two.*--batch"),
        (lambda outputs: outputs[:, :2], "colours gives 5 × 2 for 5 images, expected 5 × 3"),
        (lambda outputs: outputs[1:], "colours gives 4 × 3 for 5 images, expected 5 × 3"),
    ],
)
def test_a_network_that_fails_or_gives_another_shape_later_is_refused(change, message):
    class Two(nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            means = images.mean((2, 3))
            return change(means) if len(images) > 2 else means

    classifier = opening.Classifier("colours", tuple(CLASSES), FramePreparation(), "cpu", {}, Two())

    assert classifier(torch.zeros(2, 3, 4, 4)).shape == (2, 3)
    with pytest.raises(BadInput, match=message):
        classifier(torch.zeros(5, 3, 4, 4))


def test_a_size_that_no_memory_holds_is_refused(tmp_path):
    path = networks.scripted(tmp_path / "colours.pt")

    with pytest.raises(BadInput, match=r"does not take images of .*; give the height and width"):
        opening.load(str(path), CLASSES, preparing={"size": (10**9, 10**9)})


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [("{}", "", "colours"), ("R-1={}", "", "R-1"), ("A={}", "B b", "B b")],
)
def test_a_classifier_is_named_by_option_by_spec_or_after_its_file(tmp_path, spec, name, expected):
    path = networks.scripted(tmp_path / "colours.pt")

    assert opening.load(spec.format(path), CLASSES, name=name).name == expected


def test_a_file_whose_name_has_the_sign_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    networks.scripted(tmp_path / "lr=0.1.pt")

    assert opening.load("lr=0.1.pt", CLASSES).name == "lr=0.1"


@pytest.mark.parametrize("name", ["  ", "x" * 101, "two\nlines"])
def test_a_name_that_cannot_stand_in_a_table_is_refused(tmp_path, name):
    path = networks.scripted(tmp_path / "colours.pt")

    with pytest.raises(BadInput, match="--name"):
        opening.load(str(path), CLASSES, name=name)


def test_what_cannot_be_prepared_and_a_device_that_is_not_here_are_refused(tmp_path):
    path = str(networks.scripted(tmp_path / "colours.pt"))

    with pytest.raises(BadInput, match="cannot be meant"):
        opening.load(path, CLASSES, preparing={"std": (0.0, 1.0, 1.0)})
    with pytest.raises(BadInput, match=r"device gpu is not usable .*give auto"):
        opening.load(path, CLASSES, device="gpu")
    with pytest.raises(BadInput, match="a file, which has its own weights"):
        opening.load(path, CLASSES, random_weights=True)


@pytest.mark.gpu
def test_a_gpu_says_the_same(tmp_path):
    path = str(networks.scripted(tmp_path / "colours.pt"))
    on_cpu, there = (opening.load(path, CLASSES, device=device) for device in ("cpu", "cuda"))

    assert torch.allclose(on_cpu(batch_of(on_cpu)), there(batch_of(there)).cpu(), atol=1e-5)


# By import path.

HERE = "tests.evaluation.classifiers.networks"


def test_a_module_by_import_path_is_made_and_filled_with_weights(tmp_path):
    torch.save({"factor": torch.tensor(2.0)}, tmp_path / "weights.pt")
    size = {"size": (8, 8)}

    plain = opening.load(f"{HERE}:Colours", CLASSES, preparing=size)
    filled = opening.load(
        f"Two={HERE}:Colours", CLASSES, weights=tmp_path / "weights.pt", preparing=size
    )

    batch = batch_of(plain)
    assert torch.allclose(plain(batch), (batch.mean((2, 3)) * 4).softmax(1))
    assert torch.allclose(filled(batch), (batch.mean((2, 3)) * 2).softmax(1))
    assert (plain.name, filled.name) == ("Colours", "Two")
    # The name is the same, the weights are told apart.
    assert plain.source["model"] == filled.source["model"] == f"{HERE}:Colours"
    assert plain.source["weights"] != filled.source["weights"]


def test_random_weights_of_an_imported_module_are_the_same_each_time(tmp_path, monkeypatch):
    (tmp_path / "chance.py").write_text(
        "from torch import nn\nmade = lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 3))\n"
        "kept = made()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    size = {"size": (8, 8)}

    first, second = (opening.load("chance:made", CLASSES, preparing=size) for _ in range(2))

    assert first.source == second.source
    assert opening.load("chance:kept", CLASSES, preparing=size).name == "kept"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_package:made", "cannot be made .ModuleNotFoundError.*PYTHONPATH"),
        (f"{HERE}:none", "cannot be made .AttributeError"),
        (f"{HERE}:frame", "cannot be made .TypeError"),
        (f"{HERE}:DOG", "cannot be made .TypeError"),
        ("os:getcwd", "gives a str, expected a torch.nn.Module"),
    ],
)
def test_an_import_path_to_no_network_is_refused(spec, message):
    with pytest.raises(BadInput, match=message):
        opening.load(spec, CLASSES)


# By name: what the libraries are asked, of small stand-ins; and of the libraries where they are.


class Bar:
    """A stand-in for what torchvision says of a model's weights."""

    url = "https://example.org/models/tiny-1234.pth"

    def __str__(self) -> str:
        return "Tiny_Weights.V1"

    def transforms(self):
        return types.SimpleNamespace(
            crop_size=[8],
            resize_size=[10],
            mean=[0.5, 0.4, 0.3],
            std=[0.2, 0.2, 0.1],
            interpolation=types.SimpleNamespace(value="bilinear"),
        )


def linear(outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, outputs))


@pytest.fixture
def torchvision(monkeypatch, tmp_path):
    """A torchvision with one model, and torch's cache in an empty folder."""
    models = types.ModuleType("torchvision.models")

    def get_model(name, weights, num_classes=3):
        network = linear(num_classes)
        if weights is not None:
            network.load_state_dict(torch.load(tmp_path / "checkpoints" / "tiny-1234.pth"))
        return network

    models.list_models = lambda module: ["tiny", "other"]
    models.get_model_weights = lambda name: types.SimpleNamespace(DEFAULT=Bar())
    models.get_model = get_model
    monkeypatch.setitem(sys.modules, "torchvision", types.ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    (tmp_path / "checkpoints").mkdir()


@pytest.mark.usefixtures("torchvision")
def test_a_named_model_is_prepared_for_as_its_library_says_and_random_weights_are_the_same():
    first, second = (
        opening.load("torchvision:tiny", CLASSES, random_weights=True) for _ in range(2)
    )

    assert first.preparation.size == (8, 8)
    assert first.preparation.mean == (0.5, 0.4, 0.3)
    assert first.preparation.crop_share == 0.8
    assert first.source == {"model": "torchvision:tiny", "weights": "random", "gives": "logits"}
    assert torch.equal(first(batch_of(first)), second(batch_of(second)))


@pytest.mark.usefixtures("torchvision")
def test_weights_that_are_not_here_are_not_fetched_but_told(tmp_path):
    with pytest.raises(BadInput, match=r"nothing is downloaded; fetch https.*tiny-1234\.pth into"):
        opening.load("torchvision:tiny", CLASSES)
    torch.save(linear(3).state_dict(), tmp_path / "checkpoints" / "tiny-1234.pth")

    opened = opening.load("torchvision:tiny", CLASSES)

    assert opened.source["weights"] == "Tiny_Weights.V1"


@pytest.mark.usefixtures("torchvision")
def test_a_cached_file_that_would_run_code_is_refused(tmp_path):
    torch.save(linear(3), tmp_path / "checkpoints" / "tiny-1234.pth")

    with pytest.raises(BadInput, match="not a file of weights alone; save"):
        opening.load("torchvision:tiny", CLASSES)


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("how", ["plain", "nested", "safetensors"])
def test_weights_come_from_a_file(tmp_path, how):
    network, path = linear(3), tmp_path / "weights.pth"
    if how == "safetensors":
        needs("safetensors")
        from safetensors.torch import save_file

        path = tmp_path / "weights.safetensors"
        save_file(network.state_dict(), path)
    elif how == "plain":
        torch.save(network.state_dict(), path)
    else:
        state = {f"module.{name}": value for name, value in network.state_dict().items()}
        torch.save({"epoch": 3, "state_dict": state}, path)

    opened = opening.load("torchvision:tiny", CLASSES, weights=path)

    batch = batch_of(opened)
    with torch.no_grad():
        assert torch.allclose(opened(batch), network(batch).softmax(1))
    assert opened.source["weights"].startswith(f"{path.name}, sha256 ")


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (linear(4).state_dict(), "does not fit the network .size mismatch.*as many outputs"),
        ({"weight": 3}, "not a dict of names and tensors"),
        (linear(3), "not a file of weights alone"),
        (None, "file is missing"),
    ],
)
def test_a_file_that_is_no_weights_of_the_network_is_refused(tmp_path, content, message):
    if content is not None:
        torch.save(content, tmp_path / "weights.pth")

    with pytest.raises(BadInput, match=message):
        opening.load("torchvision:tiny", CLASSES, weights=tmp_path / "weights.pth")


@pytest.mark.usefixtures("torchvision")
def test_an_unknown_name_gets_the_near_ones_and_two_kinds_of_weights_are_one_too_many(tmp_path):
    with pytest.raises(BadInput, match="no classifier 'tinny'; did you mean tiny"):
        opening.load("torchvision:tinny", CLASSES)
    with pytest.raises(BadInput, match="leave out one of them"):
        opening.load("torchvision:tiny", CLASSES, weights=tmp_path / "w.pth", random_weights=True)


@pytest.fixture
def timm(monkeypatch, tmp_path):
    """A timm with one model, whose weights would be in the hub's cache."""
    made = types.ModuleType("timm")
    config = types.SimpleNamespace(
        hf_hub_id="timm/tiny@v1", hf_hub_filename=None, url="https://example.org/tiny.pth"
    )
    requests = []

    def create_model(name, pretrained, num_classes=3, pretrained_cfg_overlay=None):
        network = linear(num_classes)
        if pretrained:
            network.load_state_dict(torch.load(pretrained_cfg_overlay["file"]))
        return network

    def cached(repo, file, revision):
        requests.append((repo, file, revision))
        path = tmp_path / file
        return str(path) if path.exists() else None

    made.is_model = lambda name: name == "tiny"
    made.list_models = lambda: ["tiny"]
    made.create_model = create_model
    made.get_pretrained_cfg = lambda name: config
    made.data = types.SimpleNamespace(
        resolve_data_config=lambda config, model: {
            "input_size": (3, 8, 8),
            "interpolation": "bicubic",
            "mean": (0.5, 0.5, 0.5),
            "std": (0.5, 0.5, 0.5),
            "crop_pct": 0.9,
        }
    )
    hub = types.ModuleType("huggingface_hub")
    hub.try_to_load_from_cache = cached
    monkeypatch.setitem(sys.modules, "timm", made)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    return requests


def test_timm_is_asked_for_its_own_way_to_prepare(timm):
    opened = opening.load("timm:tiny", CLASSES, random_weights=True)

    assert opened.preparation.interpolation == "bicubic"
    assert opened.preparation.crop_share == 0.9
    assert opened(batch_of(opened)).shape == (5, 3)


def test_timms_weights_are_looked_for_in_the_cache_and_not_fetched(timm, tmp_path):
    with pytest.raises(BadInput, match=r"timm's weights of tiny are not .*fetch timm/tiny@v1 into"):
        opening.load("timm:tiny", CLASSES)
    assert timm == [
        ("timm/tiny", "model.safetensors", "v1"),
        ("timm/tiny", "pytorch_model.bin", "v1"),
    ]
    torch.save(linear(3).state_dict(), tmp_path / "pytorch_model.bin")

    opened = opening.load("timm:tiny", CLASSES)

    assert opened.source["weights"].startswith("pytorch_model.bin, sha256 ")


@pytest.mark.usefixtures("timm")
@pytest.mark.parametrize("name", ["hf-hub:somebody/tiny", "local-dir:/tmp/x", "tinny"])
def test_names_that_would_fetch_code_or_are_not_known_are_refused(name):
    with pytest.raises(BadInput, match="timm has no classifier"):
        opening.load(f"timm:{name}", CLASSES)


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_library_that_is_not_installed_is_one_sentence_with_the_cure(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.models", None)

    with pytest.raises(BadInput) as refused:
        opening.load(f"{library}:tiny", CLASSES)

    assert str(refused.value).endswith("pip install -r requirements-models.txt")


def test_without_onnxruntime_the_cure_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "x.onnx").write_bytes(b"")

    with pytest.raises(BadInput, match=r"onnxruntime is not installed; .*pip install onnxruntime"):
        opening.load(str(tmp_path / "x.onnx"), CLASSES)


@pytest.mark.parametrize(
    "spec", ["torchvision:squeezenet1_1", "timm:test_resnet.r160_in1k"], ids=["torchvision", "timm"]
)
def test_the_libraries_themselves_have_models_by_name(spec):
    needs(spec.partition(":")[0])

    opened = opening.load(spec, CLASSES, random_weights=True)

    assert opened(batch_of(opened)).sum(1).tolist() == pytest.approx([1] * 5, abs=1e-5)


def test_a_network_file_with_flipped_bytes_is_refused_or_read(tmp_path):
    for at in range(8):
        path = networks.scripted(tmp_path / "colours.pt")
        whole = bytearray(path.read_bytes())
        # The archive's directory at the end: names and versions of its parts.
        start = whole.index(b"PK\x01\x02")
        for offset in range(start + at, len(whole), 8):
            whole[offset] ^= 0xFF
        path.write_bytes(bytes(whole))

        with pytest.raises(BadInput):
            opening.load(str(path), CLASSES)
