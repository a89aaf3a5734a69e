"""Folders out of the object store are unpacked below their goal, or not at all."""

import errno
import hashlib
import io
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from labeling.errors import StoreFault
from labeling.jobs import hashed_files, shared_files


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


def test_a_file_of_the_data_folder_is_seen_whole_or_not_at_all():
    storage = storages["data"]
    storage.save("a/1.txt", ContentFile(b"old"))

    class FullDisk(ContentFile):
        def chunks(self, chunk_size=None):
            yield b"ne"
            assert Path(storage.path("a/1.txt")).read_bytes() == b"old"
            assert not storage.exists("a/2.txt")
            raise OSError(errno.ENOSPC, "full")

    for name in ("a/1.txt", "a/2.txt"):
        with pytest.raises(OSError, match="full"):
            storage.save(name, FullDisk(b"new"))

    assert storage.listdir("a") == ([], ["1.txt"])
    assert storage.save("a/1.txt", ContentFile(b"new")) == "a/1.txt"
    assert Path(storage.path("a/1.txt")).read_bytes() == b"new"


def test_two_requests_keep_the_same_file_at_once(tmp_path, monkeypatch):
    source = tmp_path / "model.onnx"
    source.write_bytes(b"network")
    digest = hashlib.sha256(b"network").hexdigest()
    name = f"networks/{digest}.onnx"
    write = hashed_files.atomic_write

    @contextmanager
    def keep_meanwhile(*arguments):
        with write(*arguments) as file:
            yield file
            monkeypatch.setattr(hashed_files, "atomic_write", write)
            hashed_files.keep(source, name, digest)

    monkeypatch.setattr(hashed_files, "atomic_write", keep_meanwhile)
    hashed_files.keep(source, name, digest)

    goal = hashed_files.path_of(name)
    assert goal.read_bytes() == b"network"
    assert [*goal.parent.iterdir()] == [goal]
