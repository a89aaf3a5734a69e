"""Researchers' lists in CSV or JSON Lines: questions, classes, gold, image names.

The first fault refuses the whole list and names its line and cure.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from labeling.csv_rows import nfc, plain_cell
from labeling.errors import Refusal, TooLarge
from labeling.files import is_storable
from labeling.follow_ups import candidate_lists
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS, Answer

MAX_LINES = 1_000_000
QUOTED_CHARACTERS = 60
# Lengths of the database columns, checked here because SQLite does not check them.
MAX_LENGTHS = {"image": 400, "wnid": 64, "url": 400, "source": 200, "query": 200}
# Columns that may be numbers in JSON.
NUMBERS = ("confidence", "x0", "y0", "x1", "y1")
SELECTION_CODE = "is_selection"
IS_SELECTION = (
    "This is a selection by mad select, not a list of questions. Create a MAD competition from it: "
    "that asks every question of the selection in a campaign, and ranks the classifiers."
)


class TopicListRow(TypedDict):
    key: str
    name: str
    definition: str
    synonyms: list[str]
    url: str


class VocabularyRow(TypedDict):
    key: str
    name: str


class ProposalRow(NamedTuple):
    """A detected box. line, prefix: position as number and in words. box: in pixels, as given."""

    line: int
    image: str
    topic: str
    confidence: float
    box: tuple[float, float, float, float]
    prefix: str


class GoldListRow(TypedDict):
    """A row for gold.add_gold. object: where parts are drawn."""

    image: str
    object: NotRequired[str]
    topic: str
    answer: Answer | list[list[float]]
    explanation: str
    source: str


def read_questions(content: str | bytes) -> list[tuple[str, str]]:
    """Return (image name, topic key) of the lines `image,wnid` in order, each pair once."""
    if is_selection(content):
        raise Refusal(IS_SELECTION, field="questions", code=SELECTION_CODE)
    rows = _rows(content, ["image", "wnid"], needed=2, field="questions")
    return list(dict.fromkeys((row["image"], row["wnid"]) for _, row in rows))


def read_candidates(content: str | bytes) -> list[candidate_lists.CandidateRow]:
    """Return a candidate for each line `image,wnid,query` in order; the query is optional."""
    rows = _rows(content, ["image", "wnid", "query"], needed=2, field="candidates")
    return [
        candidate_lists.CandidateRow(
            row["image"], row["wnid"], row["query"].strip(), f"Line {number}"
        )
        for number, row in rows
    ]


def is_selection(content: str | bytes) -> bool:
    """Return whether this is output of `mad select` or `mad add`: pairs below a meta line."""
    first = _text(content, "questions").lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return False
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return "pair" in row or (isinstance(row.get("meta"), dict) and "image" not in row)


def read_topics(content: str | bytes) -> list[TopicListRow]:
    """Return a topic for each line `wnid,name,definition`; name and definition are optional."""
    columns = ["wnid", "name", "definition", "synonyms", "url"]
    topics_by_key: dict[str, TopicListRow] = {}
    for _, row in _rows(content, columns, needed=1, field="topics"):
        key = row["wnid"]
        synonyms = row["synonyms"] or []
        if isinstance(synonyms, str):
            synonyms = [word.strip() for word in synonyms.split(";") if word.strip()]
        topics_by_key[key] = {
            "key": key,
            "name": (row["name"] or key)[:200],
            "definition": row["definition"],
            "synonyms": synonyms,
            "url": row["url"],
        }
    return list(topics_by_key.values())


def read_vocabulary(content: str | bytes) -> list[VocabularyRow]:
    """Return a class for each line `key,name`; the name may be empty."""
    rows = _rows(content, ["key", "name"], needed=1, field="vocabulary")
    return [{"key": row["key"], "name": row["name"]} for _, row in rows]


def read_gold(content: str | bytes, kind: str) -> list[GoldListRow]:
    """Return the gold of lines `image,wnid,answer,explanation`.

    For boxes: `image,wnid,x0,y0,x1,y1`, a line per instance. For parts: `image,object,answer`, the
    answer as JSON.
    """
    if KINDS[kind].asks == CHAINS:
        return _read_boxes(content)
    if KINDS[kind].drawn:
        return _read_drawings(content)
    columns = ["image", "wnid", "answer", "explanation", "source"]
    return [
        {
            "image": row["image"],
            "topic": row["wnid"],
            "answer": KINDS[kind].answer_of(row["answer"]),
            "explanation": row["explanation"],
            "source": row["source"],
        }
        for _, row in _rows(content, columns, needed=3, field="gold")
    ]


def _read_drawings(content: str | bytes) -> list[GoldListRow]:
    columns = ["image", "object", "answer", "explanation", "source"]
    drawings: list[GoldListRow] = []
    for number, row in _rows(content, columns, needed=2, field="gold"):
        answer = row["answer"]
        try:
            answer = json.loads(answer) if isinstance(answer, str) else answer
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not is_storable(answer):
            raise _fault(number, "answer is not a drawing in JSON", "gold")
        drawings.append(GoldListRow(**{**row, "topic": "", "answer": answer}))  # type: ignore[typeddict-item]
    return drawings


def _read_boxes(content: str | bytes) -> list[GoldListRow]:
    sides = ("x0", "y0", "x1", "y1")
    rows_by_pair: dict[tuple[str, str], GoldListRow] = {}
    for number, row in _rows(content, ["image", "wnid", *sides], needed=2, field="gold"):
        box = [_decimal(row[name], name, number, "gold") for name in sides]
        key = row["image"], row["wnid"]
        gold_row: GoldListRow = {
            "image": key[0],
            "topic": key[1],
            "answer": [],
            "explanation": "",
            "source": "",
        }
        rows_by_pair.setdefault(key, gold_row)["answer"].append(box)  # type: ignore[union-attr]
    return list(rows_by_pair.values())


def read_proposals(content: str | bytes) -> list[ProposalRow]:
    """Return the detections of lines `image,wnid,confidence,x0,y0,x1,y1` in order."""
    columns = ["image", "wnid", "confidence", "x0", "y0", "x1", "y1"]
    proposals = []
    for number, row in _rows(content, columns, needed=2, field="proposals"):
        confidence, *sides = (
            _decimal(row[name], name, number, "proposals") for name in columns[2:]
        )
        if not 0 <= confidence <= 1:
            raise _fault(number, f"confidence is {confidence:g}, not in 0 to 1", "proposals")
        x0, y0, x1, y1 = sides
        box = x0, y0, x1, y1
        proposals.append(
            ProposalRow(number, row["image"], row["wnid"], confidence, box, f"Line {number}")
        )
    return proposals


def read_examples(content: str | bytes) -> list[tuple[str, str]]:
    """Return (image name, class) of each line `image,wnid`: examples of classes."""
    rows = _rows(content, ["image", "wnid"], needed=2, field="examples")
    return list(dict.fromkeys((row["image"], row["wnid"]) for _, row in rows))


def _decimal(value: object, name: str, number: int, field: str) -> float:
    try:
        decimal = float(str(value))
    except ValueError:
        decimal = math.nan
    if not math.isfinite(decimal):
        raise _fault(
            number, f"{name} is {str(value)[:QUOTED_CHARACTERS]!r}, which is not a number", field
        )
    return decimal


def read_names(content: str | bytes) -> list[str]:
    """Return the image names, one per line, without duplicates."""
    text = nfc(_text(content, "images"))
    lines = (line.strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line and line != "image"))


def read_people(content: str | bytes) -> list[str]:
    """Return the name or address in the first column of each line. Raises Refusal for repeats."""
    lines: dict[str, int] = {}
    for number, row in _rows(content, ["name"], needed=1, field="people"):
        name = row["name"]
        if name in lines:
            raise _fault(
                number, f"{name[:QUOTED_CHARACTERS]} is already on line {lines[name]}", "people"
            )
        if len(name) > MAX_LENGTHS["source"]:
            raise _fault(number, "a name has at most 200 characters", "people")
        lines[name] = number
    return list(lines)


def _text(content: str | bytes, field: str) -> str:
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal("The file is not UTF-8 text. Save it as UTF-8.", field=field) from error
    if "\0" in text:
        raise Refusal(
            "The list contains NUL bytes, which are not valid text. Save it as UTF-8.", field=field
        )
    return text


def _rows(
    content: str | bytes, columns: Sequence[str], *, needed: int, field: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, row); the first `needed` columns must be present and not empty."""
    text = _text(content, field)
    objects = text.lstrip().startswith("{")
    read = _json_lines(text, field) if objects else _csv_lines(text, columns, needed, field)
    for count, (number, row) in enumerate(read, 1):
        if count > MAX_LINES:
            raise TooLarge(f"The list has more than {MAX_LINES:,} lines. Split it.", field=field)
        for name in columns[:needed]:
            value = row.get(name)
            if not isinstance(value, str) or not value.strip():
                raise _fault(number, f"{name} is missing", field, columns, needed)
            row[name] = value.strip()
        for name in columns:
            row[name] = _cell(row.get(name), name, number, field)
        if "image" in columns:
            row["image"] = nfc(row["image"])
        yield number, row


def _cell(value: object, name: str, number: int, field: str) -> object:
    """Return the cell, or a list for synonyms; rejects JSON values that no column takes."""
    if name == "answer" and isinstance(value, dict):
        return value
    if name in NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    words = value if name == "synonyms" and isinstance(value, list) else [value or ""]
    for word in words:
        if not isinstance(word, str):
            raise _fault(number, f"{name} is not a text", field)
        if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in word):
            raise _fault(number, f"{name} contains a NUL or a lone surrogate", field)
        if len(word) > MAX_LENGTHS.get(name, len(word)):
            raise _fault(number, f"{name} is longer than {MAX_LENGTHS[name]} characters", field)
    if name == "url" and value and not str(value).startswith(("http://", "https://")):
        raise _fault(number, "url begins with neither http:// nor https://", field)
    return value or ""


def _json_lines(text: str, field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise _fault(number, f"{line[:QUOTED_CHARACTERS]!r} is not JSON", field) from None
        if not isinstance(row, dict):
            raise _fault(number, f"{line[:QUOTED_CHARACTERS]!r} is not an object in braces", field)
        yield number, row


def _csv_lines(
    text: str, columns: Sequence[str], needed: int, field: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names = list(columns)
    first = True
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            heads = [cell.strip().lower() for cell in cells]
            if "wnid" in columns and "wnid" not in heads:
                heads = ["wnid" if head == "topic" else head for head in heads]
            if first and set(columns[:needed]) <= set(heads):
                names, first = heads, False
                continue
            first = False
            if len(cells) > len(names):
                fault = f"{len(cells)} cells, but there are {len(names)} columns"
                raise _fault(reader.line_num, fault, field, columns, needed)
            yield reader.line_num, dict(zip(names, map(plain_cell, cells), strict=False))
    except csv.Error as error:
        raise _fault(reader.line_num, f"not CSV ({error})", field) from None


def _fault(
    number: int, fault: str, field: str, columns: Sequence[str] = (), needed: int = 0
) -> Refusal:
    cure = f" Write {','.join(columns[:needed])} on every line." if columns else ""
    return Refusal(f"Line {number}: {fault}.{cure}", field=field)
