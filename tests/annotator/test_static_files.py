"""Static files as a site has them: hashed, also where one script imports another."""

import os
import re
from pathlib import Path

import pytest
from django.templatetags.static import static
from django.test import override_settings

from annotator.static_files import HashedFiles
from tests.conftest import HASHED_FILES

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(
    r"""(?:\bfrom|\bimport|\bimport\(|new URL\(|url\()\s*["']?(\.{1,2}/[^"')\s]+)"""
)
HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")


@pytest.fixture
def collected_site(collected):
    with override_settings(STORAGES=HASHED_FILES, STATIC_ROOT=collected):
        yield collected


def test_every_import_of_a_collected_script_or_style_is_hashed(collected):
    imports = [
        (file, path)
        for file in collected.rglob("*")
        if file.suffix in (".js", ".css") and file.relative_to(collected).parts[0] in ("js", "css")
        for path in IMPORT.findall(file.read_text())
    ]

    assert len(imports) > 200
    assert any("/worker." in path for _, path in imports)
    assert [each for each in imports if not HASHED.search(each[1])] == []
    assert [each for each in imports if not (each[0].parent / each[1]).is_file()] == []


def test_no_script_of_ours_names_a_map(collected):
    ours = [file for name in ("js", "vendor") for file in (collected / name).rglob("*.js")]

    assert ours
    assert [file for file in ours if "sourceMappingURL" in file.read_text()] == []


def test_addresses_of_collected_files_carry_their_hash(collected_site):
    assert re.fullmatch(r"/static/js/keys\.[0-9a-f]{12}\.js", static("js/keys.js"))
    with pytest.raises(ValueError, match=r"missing\.js"):
        static("js/missing.js")


def test_files_keep_their_names_until_they_are_collected(tmp_path):
    with override_settings(STORAGES=HASHED_FILES, STATIC_ROOT=tmp_path):
        assert static("js/keys.js") == "/static/js/keys.js"


def test_files_keep_their_names_after_a_change_that_is_not_collected(tmp_path, collected):
    manifest = tmp_path / "staticfiles.json"
    manifest.write_bytes((collected / "staticfiles.json").read_bytes())
    os.utime(manifest, (1, 1))

    with override_settings(STORAGES=HASHED_FILES, STATIC_ROOT=tmp_path):
        assert static("js/keys.js") == "/static/js/keys.js"


def test_files_are_compressed_by_brotli_but_for_maps(tmp_path):
    for name in ("a.js", "a.js.map"):
        (tmp_path / name).write_text("let a = 1;\n" * 1000)

    made = dict(HashedFiles(location=tmp_path).compress_files(["a.js"]))
    compressor = HashedFiles(location=tmp_path).create_compressor(quiet=True)

    assert made
    assert {file.name for file in tmp_path.iterdir()} >= {"a.js.br", "a.js.gz"}
    assert not compressor.should_compress("a.js.map")
