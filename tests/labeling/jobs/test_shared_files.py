"""Folders out of the object store are unpacked below their goal, or not at all."""

import io
import tarfile

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from labeling.errors import StoreFault
from labeling.jobs import shared_files


def packed(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("first.txt"))
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.mode = kind, link, 0o6777
        archive.addfile(member)
    return file.getvalue()


@pytest.fixture(params=[True, False], ids=["filters", "3.11.2"])
def store(request, monkeypatch):
    """An object store in memory, on a Python with and without tarfile's filters."""
    if not request.param:
        for name in ("data_filter", "tar_filter", "fully_trusted_filter"):
            monkeypatch.delattr(tarfile, name, raising=False)
    memory = InMemoryStorage()
    monkeypatch.setitem(storages._storages, "data", memory)
    return memory


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("/outside.txt", tarfile.REGTYPE, ""),
        ("../outside.txt", tarfile.REGTYPE, ""),
        ("a/../../outside.txt", tarfile.REGTYPE, ""),
        ("..", tarfile.DIRTYPE, ""),
        ("link", tarfile.SYMTYPE, "first.txt"),
        ("link", tarfile.SYMTYPE, "/etc/passwd"),
        ("link", tarfile.LNKTYPE, "first.txt"),
        ("device", tarfile.CHRTYPE, ""),
        ("device", tarfile.BLKTYPE, ""),
        ("pipe", tarfile.FIFOTYPE, ""),
    ],
)
def test_what_leads_out_of_a_folder_is_refused(store, tmp_path, name, kind, link):
    store.save("bad.tar", ContentFile(packed(name, kind, link)))

    with pytest.raises(StoreFault, match=repr(name)):
        shared_files.fetch("bad.tar", tmp_path / "goal")

    assert not list(tmp_path.rglob("*.txt"))
    assert not (tmp_path / "goal").exists()


def test_folders_come_back_without_the_rights_of_strangers(store, tmp_path):
    store.save("good.tar", ContentFile(packed("a/b.txt")))

    assert shared_files.fetch("good.tar", tmp_path / "goal")

    assert (tmp_path / "goal/first.txt").is_file()
    assert (tmp_path / "goal/a/b.txt").stat().st_mode & 0o7777 == 0o640
