"""Which exports fit, and how an image and prompts come to them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.geometry import regions
from labeling.promptable import prompts
from labeling.promptable.network import Decoder, Encoder, EncoderPreparation, try_out
from labeling.promptable.outlines import MAX_CORNERS, SMALL_HOLE, outline_of
from labeling.promptable.prompts import Prompts
from tests.cases import for_each
from tests.labeling.promptable import made_up

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return made_up.files(tmp_path)


def changed(path: Path, change: Any) -> Path:
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)
    return path


def renamed(old: str, new: str) -> Any:
    def change(model: Any) -> None:
        for value in [*model.graph.input, *model.graph.output]:
            value.name = new if value.name == old else value.name
        for node in model.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]

    return change


def picture() -> Image.Image:
    made = Image.new("RGB", (100, 60), (30, 40, 200))
    made.paste((220, 40, 30), (20, 10, 60, 50))
    return made


def test_a_click_marks_what_is_of_its_colour(files):
    encoder, decoder = Encoder(files[0]), Decoder(files[1])
    prompts = Prompts(((40.0, 30.0, 1),))

    mask, score = decoder.decode(encoder.embed(picture()), prompts, (100, 60), encoder.preparation)

    (outline,) = outline_of(mask, (100, 60), prompts.points_on_part())
    assert regions.iou((outline,), ((((20, 10), (60, 10), (60, 50), (20, 50)),),)) > 0.9
    assert score == pytest.approx(0.9)


def test_an_embedding_is_the_same_bytes_each_time(files):
    assert Encoder(files[0]).embed(picture()).tobytes() == (
        Encoder(files[0]).embed(picture()).tobytes()
    )


def test_what_the_file_fixes_is_taken_from_it_and_nothing_else(files):
    assert Encoder(files[0]).preparation == EncoderPreparation(made_up.SIZE)
    with pytest.raises(BadInput, match="takes images of 256 pixels; give --size 256"):
        Encoder(files[0], 1024)


def test_an_encoder_that_prepares_images_itself_gets_pixels_as_they_are(tmp_path):
    path = made_up.encoder(tmp_path / "raw.onnx", shape=["height", "width", 3])

    preparation = Encoder(path, 128).preparation

    assert preparation == EncoderPreparation(128, raw=True)
    assert preparation.pixels(picture()).shape == (77, 128, 3)
    assert preparation.pixels(picture()).max() > 200


@for_each(
    ("shape", "message"),
    [
        ([1, 1, 256, 256], r"shape \[1, 1, 256, 256\], expected \[1, 3, S, S\] or \[H, W, 3\]"),
        ([1, 3, 256, 128], "expected a square"),
        ([1, 3, 8, 8], "takes images of 8 pixels, expected 64 to 4096"),
        ([2, 3, 256, 256], "expected"),
    ],
)
def test_an_encoder_of_another_input_is_refused(tmp_path, shape, message):
    with pytest.raises(BadInput, match=message):
        Encoder(made_up.encoder(tmp_path / "other.onnx", shape=shape))


def test_an_encoder_of_half_precision_is_refused(tmp_path):
    path = made_up.encoder(tmp_path / "half.onnx", type=onnx.TensorProto.FLOAT16)

    with pytest.raises(BadInput, match=r"takes tensor\(float16\), expected float32"):
        Encoder(path)


def test_a_decoder_without_an_input_of_the_contract_is_refused(files):
    changed(files[1], renamed("point_coords", "points_in"))

    with pytest.raises(
        BadInput, match=r"no input 'point_coords'.*see docs/explanation/part-campaigns.md"
    ):
        Decoder(files[1])


def test_a_decoder_without_scores_is_refused(files):
    changed(files[1], renamed("iou_predictions", "quality"))

    with pytest.raises(BadInput, match="has no output 'iou_predictions'"):
        Decoder(files[1])


def test_files_of_two_networks_are_refused(tmp_path):
    encoder = Encoder(made_up.encoder(tmp_path / "encoder.onnx", grid=32))
    decoder = Decoder(made_up.decoder(tmp_path / "decoder.onnx"))

    with pytest.raises(BadInput, match=r"takes embeddings of shape \[1, 3, 64, 64\]"):
        try_out(encoder, decoder)


def test_a_decoder_of_masks_of_another_size_is_refused(files, tmp_path):
    def change(model: Any) -> None:
        for node in model.graph.node:
            if node.op_type == "Slice":
                node.op_type = "Identity"
                del node.input[1:]

    changed(files[1], change)

    with pytest.raises(BadInput, match="returns masks of shape"):
        try_out(Encoder(files[0]), Decoder(files[1]))


@pytest.mark.parametrize("content", [b"", b"no network", b"\x08\x07"])
def test_what_is_no_onnx_is_refused_before_it_is_opened(tmp_path, content):
    path = tmp_path / "network.onnx"
    path.write_bytes(content)

    with pytest.raises(BadInput, match="cannot be read as ONNX"):
        Encoder(path)


def test_data_in_another_file_is_refused(files):
    def change(model: Any) -> None:
        tensor = model.graph.initializer[0]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../elsewhere.bin")

    model = onnx.load(files[1])
    change(model)
    files[1].write_bytes(model.SerializeToString())

    with pytest.raises(BadInput, match="has tensors in other files"):
        Decoder(files[1])


def test_an_opset_of_the_future_is_refused_with_its_cure(files):
    def change(model: Any) -> None:
        model.opset_import[0].version = 999

    changed(files[0], change)

    with pytest.raises(BadInput, match=r"cannot be opened as ONNX.*export it again"):
        Encoder(files[0])


def test_the_component_under_the_click_is_outlined_not_the_largest():
    mask = np.zeros((50, 100), bool)
    mask[5:45, 50:95] = True
    mask[5:15, 5:15] = True

    (small,) = outline_of(mask, (200, 100), [(20.0, 20.0)])
    (large,) = outline_of(mask, (200, 100))

    assert regions.area((small,)) == pytest.approx(400, rel=0.1)
    assert regions.area((large,)) == pytest.approx(40 * 45 * 4, rel=0.1)


@pytest.mark.parametrize("share", [0.7, 0.8])
def test_no_hole_of_noise_is_simplified(monkeypatch, share):
    noise = np.random.default_rng(0).random((300, 300)) < share
    noise[100:200, 100:200] = False
    simplify, rings = regions.simplify, []

    def count(pieces, tolerance):
        rings.append(sum(map(len, pieces)))
        return simplify(pieces, tolerance)

    monkeypatch.setattr(regions, "simplify", count)
    (piece,) = outline_of(noise, (900, 900))

    # Time by the square of the holes: thousands of them took seconds.
    assert max(rings) < 1 / SMALL_HOLE
    assert len(piece) == 2
    assert regions.area(((piece[1],),)) == pytest.approx(300 * 300, rel=0.1)


def test_an_outline_has_no_more_corners_than_a_hand_mends():
    noise = np.random.default_rng(0).random((200, 200)) < 0.7

    outline = outline_of(noise, (800, 800))

    assert 0 < sum(len(ring) for piece in outline for ring in piece) <= MAX_CORNERS
    assert outline_of(np.zeros((20, 20), bool), (20, 20)) == ()


@for_each(
    ("bad_prompts", "message"),
    [
        ([], "Prompts are an object"),
        ({"mask": []}, "Prompts are an object"),
        ({}, "Show something of the part"),
        ({"points": [[1, 1, 0]]}, "Show something of the part"),
        ({"points": [[1, 1, 2]]}, "A point must be"),
        ({"points": [[1, True, 1]]}, "A place is"),
        ({"points": [[100.5, 1, 1]]}, "is outside the image of 100 × 60 pixels"),
        ({"points": [[float("nan"), 1, 1]]}, "is outside"),
        ({"points": [[1, 1, 1]] * 33}, "at most 32"),
        ({"box": [10, 10, 5, 20]}, "has no area"),
        ({"stroke": [[1, 1]] * 1001}, "at most 1000"),
    ],
)
def test_bad_prompts_are_refused_with_a_sentence(bad_prompts, message):
    with pytest.raises(Refusal, match=message):
        prompts.clean(bad_prompts, 100, 60)


def test_prompts_become_labelled_points():
    cleaned = prompts.clean(
        {"points": [[1, 2, 0]], "box": [10, 10, 50, 50], "stroke": [[0, 0], [70, 0]]}, 100, 60
    )

    labelled = cleaned.labelled()

    assert labelled[0] == (1.0, 2.0, 0)
    assert labelled[-2:] == [(10.0, 10.0, 2), (50.0, 50.0, 3)]
    assert [x for x, _, label in labelled if label == 1] == [0, 10, 20, 30, 40, 50, 60, 70]
    assert Prompts(((1.0, 1.0, 1),)).labelled()[-1] == (0.0, 0.0, -1)
