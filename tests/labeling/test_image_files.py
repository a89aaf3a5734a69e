"""What a file is, whether it is whole, and what annotators see of it."""

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from labeling.image_files import DISPLAY_PX, THUMBNAIL_PX, BadImage, check, derive, tiles_of
from tests.cases import for_each
from tests.labeling import samples

MANY = 100_000_000


def judged(content: bytes, max_pixels: int = MANY):
    return check(io.BytesIO(content), max_pixels=max_pixels)


def display_image(content: bytes) -> Image.Image:
    display, _ = derive(io.BytesIO(content), max_pixels=MANY)
    return Image.open(io.BytesIO(display.content))


def is_red(pixel: tuple[int, ...]) -> bool:
    return pixel[0] > 150 and pixel[1] < 100


# What is taken


@for_each(
    ("form", "media_type"),
    [
        ("JPEG", "image/jpeg"),
        ("PNG", "image/png"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
        ("MPO", "image/jpeg"),
    ],
)
def test_the_type_is_told_by_content(form, media_type):
    checked = judged(samples.saved(samples.two_sided(), form))

    assert (checked.media_type, checked.width, checked.height) == (media_type, 60, 40)


def test_a_stereo_jpeg_counts_as_its_first_picture():
    pair = samples.saved(
        samples.two_sided(), "MPO", save_all=True, append_images=[Image.new("RGB", (60, 40))]
    )

    assert judged(pair).media_type == "image/jpeg"
    assert is_red(display_image(pair).convert("RGB").getpixel((5, 5)))


@for_each("orientation", range(1, 9))
def test_every_exif_orientation_is_shown_upright(orientation):
    content = samples.turned(orientation, samples.two_sided((60, 40)))

    checked, image = judged(content), display_image(content)

    assert (checked.width, checked.height) == (60, 40)
    assert image.size == (60, 40)
    assert is_red(image.getpixel((5, 5)))
    assert is_red(image.getpixel((5, 35)))
    assert not is_red(image.getpixel((55, 5)))


def test_a_tiff_with_an_orientation_is_turned_once():
    exif = Image.Exif()
    exif[0x0112] = 6
    stored = samples.two_sided((60, 40)).transpose(Image.Transpose.ROTATE_90)
    content = samples.saved(stored, "TIFF", exif=exif)

    checked, image = judged(content), display_image(content)

    assert (checked.width, checked.height) == image.size == (60, 40)
    assert is_red(image.getpixel((5, 20)))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_a_damaged_exif_block_does_not_cost_the_picture():
    content = samples.jpeg(exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")

    assert judged(content).width == 60
    assert display_image(content).size == (60, 40)


# What is refused


@for_each("form", ["JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF"])
@for_each("share", [0.05, 0.5, 0.9])
def test_a_truncated_file_is_refused(form, share):
    whole = samples.noise(form=form)

    with pytest.raises(BadImage, match=r"truncated|damaged|not a JPEG"):
        judged(whole[: int(len(whole) * share)])


def test_a_jpeg_cut_in_half_is_called_truncated():
    whole = samples.noise()

    with pytest.raises(BadImage, match="truncated"):
        judged(whole[: len(whole) // 2])


def test_a_png_with_a_flipped_bit_is_refused():
    content = bytearray(samples.noise(form="PNG"))
    content[len(content) // 2] ^= 1

    with pytest.raises(BadImage, match=r"damaged|truncated"):
        judged(bytes(content))


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP"])
def test_an_animation_is_refused(form):
    with pytest.raises(BadImage, match="animated"):
        judged(samples.animated(form))


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP"])
def test_the_first_frame_of_an_animation_is_taken_where_it_is_meant(form):
    file = io.BytesIO(samples.animated(form))

    checked = check(file, max_pixels=MANY, first_frame=True)

    display, _ = derive(file, max_pixels=MANY)
    assert Image.open(io.BytesIO(display.content)).size == (checked.width, checked.height)


def test_a_tiff_of_several_pages_is_refused():
    with pytest.raises(BadImage, match="3 pages"):
        judged(samples.animated("TIFF"))


def test_a_decompression_bomb_is_refused_from_its_header():
    with pytest.raises(BadImage, match="the limit of this site"):
        judged(samples.png_bomb())


@pytest.mark.parametrize(("width", "refused"), [(100, False), (101, True)])
def test_the_pixel_limit_is_the_sites_own(width, refused):
    content = samples.saved(Image.new("RGB", (width, 100)), "PNG")

    if refused:
        with pytest.raises(BadImage, match="more than 10,000 pixels"):
            judged(content, max_pixels=10_000)
    else:
        assert judged(content, max_pixels=10_000).width == 100


@for_each(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"hello, this is no picture at all", "not a JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a JPEG"),
        (b"PK\x03\x04 and so on, an archive", "archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
    ],
)
def test_what_is_no_image_is_told_so(content, why):
    with pytest.raises(BadImage, match=why):
        judged(content)


# What annotators see


@for_each("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_nothing_but_pixels_reaches_annotators(form):
    content = samples.with_secrets(form)
    assert b"SECRET" in content

    for made in derive(io.BytesIO(content), max_pixels=MANY):
        assert b"SECRET" not in made.content
        image = Image.open(io.BytesIO(made.content))
        image.load()
        assert not image.getexif()
        assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"} | {
            "progressive",
            "progression",
            "loop",
            "background",
            "timestamp",
            "duration",
        }


def test_a_big_image_is_bounded_and_a_small_one_keeps_its_pixels():
    assert display_image(samples.jpeg((5000, 1000))).size == (DISPLAY_PX, 819)
    assert display_image(samples.jpeg((3000, 1000))).size == (3000, 1000)
    assert display_image(samples.saved(Image.new("L", (20000, 1)), "PNG")).size == (DISPLAY_PX, 1)


def cut(content: bytes) -> dict[str, Image.Image]:
    made = tiles_of(io.BytesIO(content), max_pixels=MANY)
    return {name: Image.open(io.BytesIO(file.content)) for name, file in made}


def test_a_large_image_is_cut_into_tiles_of_each_level_and_a_preview():
    tiles = cut(samples.jpeg((9001, 1030)))

    assert [tiles[f"0,8,{row}"].size for row in (0, 1)] == [(809, 1024), (809, 6)]
    assert tiles["1,4,0"].size == (405, 515)
    assert tiles["2,2,0"].size == (203, 258), "halves are rounded up"
    assert tiles["preview"].size == (2048, 235)
    assert len(tiles) == 9 * 2 + 5 + 3 + 1
    assert list(tiles)[-1] == "preview"
    assert is_red(tiles["0,4,0"].getpixel((395, 5)))
    assert not is_red(tiles["0,4,0"].getpixel((415, 5)))


@pytest.mark.parametrize("orientation", [3, 6])
def test_tiles_are_cut_from_the_upright_image(orientation):
    tiles = cut(samples.turned(orientation, samples.two_sided((4100, 20))))

    assert tiles["preview"].width == 2048
    assert is_red(tiles["0,0,0"].getpixel((5, 5)))
    assert not is_red(tiles["0,4,0"].getpixel((2, 5)))


@for_each("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_tiles_take_no_metadata_along(form):
    content = samples.with_secrets(form)

    made = [file.content for _, file in tiles_of(io.BytesIO(content), max_pixels=MANY)]

    assert b"SECRET" in content
    assert not any(b"SECRET" in file for file in made)


def test_tiles_of_deep_grey_are_stretched_alike():
    values = np.tile(np.linspace(0, 4000, 5000).astype(np.uint16), (4, 1))

    tiles = cut(samples.saved(Image.fromarray(values), "PNG"))

    assert tiles["0,0,0"].convert("L").getpixel((1000, 2)) < 80
    assert tiles["0,4,0"].convert("L").getpixel((100, 2)) > 200


def test_a_small_lossless_image_stays_lossless():
    content = samples.noise(form="PNG")

    image = display_image(content)

    assert image.format == "PNG"
    assert np.array_equal(np.asarray(image), np.asarray(Image.open(io.BytesIO(content))))


def test_a_large_lossless_image_becomes_a_fine_jpeg():
    assert display_image(samples.saved(samples.two_sided((2000, 1200)), "PNG")).format == "JPEG"


def test_a_jpeg_loses_next_to_nothing():
    photograph = Image.effect_mandelbrot((320, 240), (-2, -1.5, 1, 1.5), 100).convert("RGB")
    content = samples.saved(photograph, "JPEG", quality=90)

    image = display_image(content)

    before = np.asarray(Image.open(io.BytesIO(content)), dtype=int)
    assert np.abs(np.asarray(image, dtype=int) - before).mean() < 3


def test_a_thumbnail_is_a_small_webp():
    _, thumbnail = derive(io.BytesIO(samples.jpeg((1600, 800))), max_pixels=MANY)

    image = Image.open(io.BytesIO(thumbnail.content))

    assert thumbnail.media_type == "image/webp"
    assert (image.format, image.size) == ("WEBP", (THUMBNAIL_PX, THUMBNAIL_PX // 2))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_lies_on_white(mode):
    image = Image.new("RGBA", (40, 40), (0, 0, 0, 0)).convert(mode)
    options = {"transparency": 0} if mode == "P" else {}
    content = samples.saved(image, "PNG", **options)

    assert display_image(content).convert("RGB").getpixel((20, 20)) == (255, 255, 255)


def test_deep_grey_keeps_its_steps():
    steps = np.linspace(0, 65535, 64, dtype=np.uint16).reshape(8, 8)

    image = display_image(samples.saved(Image.fromarray(steps), "PNG"))

    assert np.array_equal(np.asarray(image.convert("L")), steps >> 8)


@for_each("form", ["PNG", "TIFF"])
@for_each("bits", [10, 12, 14])
def test_deep_grey_of_few_bits_is_stretched(form, bits):
    """A scan of 10 to 14 bits in a file of 16, with one hot pixel."""
    values = np.tile(np.linspace(50, 2**bits // 4, 100), (100, 1)).astype(np.uint16)
    values[0, 0] = 2**bits - 1

    image = np.asarray(display_image(samples.saved(Image.fromarray(values), form)).convert("L"))

    assert (image[50, 0], image[50, -1]) == (0, 255)
    assert (np.diff(image[50].astype(int)) >= 1).all()


@pytest.mark.parametrize("value", [0, 700])
def test_deep_grey_of_one_value_is_black(value):
    values = np.full((8, 8), value, np.uint16)

    image = display_image(samples.saved(Image.fromarray(values), "PNG")).convert("L")

    assert image.getextrema() == (0, 0)


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_wide_grey_is_stretched_over_what_a_screen_shows(kind):
    values = np.arange(64, dtype=kind).reshape(8, 8) * 1000

    image = np.asarray(display_image(samples.saved(Image.fromarray(values), "TIFF")).convert("L"))

    assert (image.min(), image.max()) == (0, 255)
    assert (np.diff(image.ravel().astype(int)) > 0).all()


def test_grey_values_that_are_no_numbers_become_black():
    values = np.full((8, 8), np.nan, dtype=np.float32)
    values[0, 0], values[0, 1] = 1, 2

    image = np.asarray(display_image(samples.saved(Image.fromarray(values), "TIFF")).convert("L"))

    assert image[0, 1] == 255
    assert image[5, 5] == 0


def test_black_and_white_and_print_colours_are_shown():
    assert (
        display_image(samples.saved(Image.new("1", (9, 9), 1), "PNG")).convert("L").getpixel((1, 1))
    )
    cmyk = display_image(samples.saved(Image.new("CMYK", (9, 9), (0, 255, 255, 0)), "JPEG"))
    assert is_red(cmyk.getpixel((4, 4)))


def test_a_colour_profile_is_applied():
    swapped = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()

    # One profile fits and changes nothing; the other is of a colour space the file is not in.
    assert is_red(display_image(samples.jpeg(icc_profile=srgb)).getpixel((5, 5)))
    assert is_red(display_image(samples.jpeg(icc_profile=swapped)).getpixel((5, 5)))
    assert is_red(display_image(samples.jpeg(icc_profile=b"no profile at all")).getpixel((5, 5)))
