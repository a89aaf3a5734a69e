"""JSON files beside masks, with data that mask formats lack; and safe names for such files."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from labeling.files import BadInput, StrPath
from labeling.formats.reading import LabelReading

# Limit of a file name in bytes; file systems allow 255 with the extension.
MAX_NAME_BYTES = 160
MAX_BYTES = 64 << 20


def write(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file, not atomically: its folder appears only when complete."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(content, file, ensure_ascii=False)
        file.write("\n")


def read(path: Path) -> dict[str, object]:
    """Return the JSON object in a file. Raises BadInput for other values."""
    if path.stat().st_size > MAX_BYTES:
        raise BadInput("is larger than 64 MiB", file=path, cure="export it again")
    content = read_json(path)
    if not isinstance(content, dict):
        raise BadInput("is not a JSON object", file=path, cure="export it again")
    return content


def read_json(path: StrPath) -> object:
    """Return the content of a JSON file. Raises BadInput with the line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return json.load(file)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=path, cure="save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput("is not JSON", file=path, line=line, cure="export it again") from None


def rows(
    content: Mapping[str, object], key: str, reading: LabelReading, entry: str
) -> list[dict[str, object]]:
    """Return the list of objects under a key. Raises BadInput for other values."""
    rows_at_key = content.get(key)
    if isinstance(rows_at_key, list) and all(isinstance(row, dict) for row in rows_at_key):
        return rows_at_key
    raise reading.bad(f"{entry} has no list of {key}", "export it again")


def file_path(name: str) -> str:
    """Return an image's name as a path that stays below its folder on every system.

    >>> file_path("../birds/a coot?.jpg")
    '%2E%2E/birds/a coot%3F.jpg'
    """
    return "/".join(map(file_name, name.split("/")))


def file_name(name: str) -> str:
    """Return a text as a valid file name."""
    safe = "".join(c if c.isalnum() or c in "._- ()," else f"%{ord(c):02X}" for c in name)
    if not safe.strip(". ") or safe[-1] in ". ":
        safe = safe.replace(".", "%2E").replace(" ", "%20") or "%"
    if len(safe.encode()) > MAX_NAME_BYTES:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        safe = f"{safe.encode()[:100].decode(errors='ignore')}~{digest}"
    return safe


def files_in(path: Path, ending: str) -> Iterable[Path]:
    """Return the files with that extension in a folder and below, sorted; or the single file."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix.lower() == ending)


def single_file(path: StrPath, name: str) -> Path:
    """Return the file, or in a folder the file of that name, else its only .json besides
    release.json.

    Raises BadInput if there are none or several.
    """
    folder = Path(path)
    if not folder.is_dir():
        return folder
    if (folder / name).is_file():
        return folder / name
    candidates = [file for file in sorted(folder.glob("*.json")) if file.name != "release.json"]
    if len(candidates) != 1:
        raise BadInput(
            f"has {len(candidates)} .json files", file=path, cure="name the one that is meant"
        )
    return candidates[0]
