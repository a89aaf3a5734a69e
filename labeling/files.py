"""Input files and their errors, atomic writes, file hashes. No Django.

Shared by commands, readers and exports of labeling and evaluation.
"""

import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

StrPath = str | os.PathLike[str]
# Characters that no database accepts in text: NUL and lone surrogates.
NO_TEXT = re.compile("[\0\ud800-\udfff]")
ADDRESS = re.compile(r"(s3|gs|https?):/")
# A full disk, a quota that is used up, a file longer than the system allows.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class BadInput(Exception):
    """Input that a person must fix: fault, position and cure.

    `str()` gives the line that commands print. Commands exit 1 on it.

    >>> print(BadInput("rank is 0, expected 1 or more", file="s.jsonl", line=3, cure="number them"))
    s.jsonl, line 3: rank is 0, expected 1 or more; number them
    """

    def __init__(
        self,
        message: str,
        file: StrPath | None = None,
        line: int | None = None,
        cure: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = os.fspath(file) if file is not None else None
        self.line = line
        self.cure = cure

    def __str__(self) -> str:
        prefix = self.file or ""
        if self.line is not None:
            prefix += f", line {self.line}" if prefix else f"line {self.line}"
        sentence = f"{prefix}: {self.message}" if prefix else self.message
        sentence += f"; {self.cure}" if self.cure else ""
        # File names and labels may carry line breaks; the promise is one line.
        return " ".join(sentence.split())

    def as_dict(self) -> dict[str, object]:
        """Return the object that commands print under --json."""
        return {"error": self.message, "file": self.file, "line": self.line, "cure": self.cure}


def require_file(path: Path, cure: str) -> None:
    """Raise BadInput if the file does not exist."""
    if not path.is_file():
        raise BadInput("the file is missing", path, None, cure)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_lines(path: Path) -> list[str]:
    """Return the lines of a small text file. BadInput names the line that is not UTF-8."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput("is not UTF-8", path, line, "save it as UTF-8") from error


def refuse_input(out: StrPath, inputs: Iterable[StrPath]) -> None:
    """Raise BadInput if the output file is one of the inputs."""
    goal = Path(out).resolve()
    if any(Path(file).resolve() == goal for file in inputs):
        raise BadInput("is one of the files that are read", file=out, cure="give another --out")


def refuse_address(path: Path) -> None:
    """Raise BadInput for a path such as s3://BUCKET/x, which Path would turn into s3:/BUCKET/x."""
    if match := ADDRESS.match(str(path)):
        raise BadInput(
            "is an address, expected a path",
            file=f"{match[0]}/{str(path)[match.end() :]}",
            cure="copy it to this machine; --work, and --pool of mad, take s3://BUCKET/…",
        )


def first_line(error: BaseException, longest: int = 200) -> str:
    r"""Return the first line of an exception's message, or its type without one; "…" marks a cut.

    >>> first_line(ValueError("bad\nand more")), first_line(KeyError())
    ('bad', 'KeyError')
    >>> first_line(OSError("12345"), longest=4)
    '123…'
    """
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_yaml(path: StrPath) -> dict[str, object]:
    """Return the keys of a YAML file, none for an empty one. Raises BadInput with the line."""
    with open(path, "rb") as file:
        return parse_yaml(file.read(), path)


def parse_yaml(text: bytes, path: StrPath) -> dict[str, object]:
    """Return the keys of a YAML file's content; like read_yaml. path: for messages."""
    import yaml

    from labeling import strict_yaml

    try:
        # A fault at the end is in the last line, not in the one after it.
        content = strict_yaml.load(text.decode("utf-8-sig").rstrip())
    except strict_yaml.Refers as error:
        raise BadInput(
            "uses a YAML alias (*name)", file=path, line=error.line, cure="write the value itself"
        ) from None
    except RecursionError:
        raise BadInput("nests too deeply", file=path, cure="write key: value") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise BadInput(
            "is not YAML", file=path, line=mark.line + 1 if mark else None, cure="write key: value"
        ) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=path, cure="save it as UTF-8") from None
    if not isinstance(content, dict | None):
        raise BadInput("has no keys", file=path, cure="write lines such as votes: 5")
    return content or {}


def read_yaml_with_lines(
    path: Path, empty: str, cure: str
) -> tuple[dict[str, object], dict[tuple[str | int, ...], int]]:
    """Return the keys of a YAML file, and the line of everything by its path of keys.

    empty: the fault of a file without keys. Raises BadInput with the line.
    """
    import yaml

    from labeling import strict_yaml

    require_file(path, cure)
    try:
        content, lines = strict_yaml.load_with_lines("\n".join(text_lines(path)))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else getattr(error, "line", None)
        raise BadInput("cannot be read as YAML", path, line, cure) from error
    if not isinstance(content, dict) or not content:
        raise BadInput(empty, path, None, cure)
    return {str(key): value for key, value in content.items()}, lines


@contextlib.contextmanager
def atomic_write(path: StrPath, mode: str = "w") -> Iterator[IO[Any]]:
    """Yield a file that appears under its name only if the block succeeds.

    It is written beside its goal under a temporary name, synced, then renamed; if the block raises,
    nothing is left and an older file is unchanged. mode is "w" (UTF-8, Unix line ends) or "wb". A
    goal that is a device or a pipe (/dev/stdout) is written directly.
    """
    if mode not in {"w", "wb"}:
        raise ValueError(f"mode is {mode!r}, expected 'w' or 'wb'")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    goal = Path(path)
    if goal.exists() and not goal.is_file() and not goal.is_dir():
        with open(goal, mode, encoding=encoding, newline=newline) as direct:
            yield direct
        return
    if goal.is_dir():
        raise BadInput("is a folder, expected a file name", file=goal, cure="give a file name")
    # Through a link, the file it points to is replaced, not the link.
    goal = goal.resolve()
    if not goal.parent.is_dir():
        raise BadInput("its folder does not exist", file=path, cure=f"create {goal.parent}")
    handle, name = tempfile.mkstemp(prefix=f".{goal.name[:80]}.", suffix=".part", dir=goal.parent)
    try:
        with os.fdopen(handle, mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _permissions(goal))
        os.replace(name, goal)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            error.filename = os.fspath(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    sync_folder(goal.parent)


def _permissions(goal: Path) -> int:
    """Return the mode that open() would leave: the old file's, else 0666 less the umask."""
    if goal.exists():
        return goal.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder, if its file system can."""
    # Without this the rename itself may be lost when the power fails. Some file systems refuse.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_storable(value: object) -> bool:
    r"""Return whether databases accept every text in a JSON value.

    >>> is_storable({"note": ["coot", 1]}), is_storable({"note": ["\ud800"]})
    (True, False)
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str) and NO_TEXT.search(item):
            return False
    return True
