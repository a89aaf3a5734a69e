"""The Parquet files of a published release.

images: a row per image, with its classes by value and its objects. labels: a row per label of a
class. objects: a row per object or part. votes: a row per vote. Boxes are x, y, width, height in
pixels of the upright image, as in COCO.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from labeling.files import file_sha256
from labeling.formats.label import Label
from labeling.geometry.polygons import Polygons, as_json, to_shapely
from labeling.parts.model import PartedObject, Photograph

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, NUMBER, COUNT, FLAG = "string", "float64", "int64", "bool"
# Columns and types of each table; a list type ends with [].
COLUMNS: dict[str, dict[str, str]] = {
    "images": {
        "name": TEXT,
        "width": COUNT,
        "height": COUNT,
        "sha256": TEXT,
        "licence": TEXT,
        "source": TEXT,
        "yes": "string[]",
        "no": "string[]",
        "unknown": "string[]",
    },
    "labels": {
        "image": TEXT,
        "class": TEXT,
        "class_name": TEXT,
        "value": TEXT,
        "origin": TEXT,
        "probability": NUMBER,
        "error": NUMBER,
        "votes": COUNT,
    },
    "objects": {
        "image": TEXT,
        "object": TEXT,
        "class": TEXT,
        "class_name": TEXT,
        "part": TEXT,
        "part_name": TEXT,
        "state": TEXT,
        "origin": TEXT,
        "x": NUMBER,
        "y": NUMBER,
        "width": NUMBER,
        "height": NUMBER,
        "area": NUMBER,
        "polygons": TEXT,
        "flags": TEXT,
    },
    "votes": {
        "image": TEXT,
        "topic": TEXT,
        "object": TEXT,
        "node": TEXT,
        "step": TEXT,
        "number": COUNT,
        "annotator": TEXT,
        "value": TEXT,
        "counted": FLAG,
        "late": FLAG,
        "revision": COUNT,
        "duration_ms": COUNT,
    },
}
# Rows and bytes that are kept in memory before they are written.
BATCH_ROWS = 10_000
BATCH_BYTES = 32 << 20
Row = dict[str, object]


class TableHead(TypedDict):
    """The number of rows of a finished table, and the size and hash of its file."""

    rows: int
    bytes: int
    sha256: str


class ParquetTable:
    """A Parquet file that grows row by row. with_images: has a column of image files."""

    def __init__(self, folder: Path, name: str, with_images: bool = False) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.name = name
        self.path = folder / f"{name}.parquet"
        self.schema = _schema(name, with_images)
        self.writer = parquet.ParquetWriter(self.path, self.schema, compression="zstd")
        self.from_rows = pa.RecordBatch.from_pylist
        self.rows: list[Row] = []
        self.bytes = self.count = 0

    def add(self, row: Row, size: int = 0) -> None:
        """Add a row. size: bytes of its image file."""
        self.rows.append(row)
        self.count += 1
        self.bytes += size
        if len(self.rows) >= BATCH_ROWS or self.bytes >= BATCH_BYTES:
            self._flush()

    def close(self) -> TableHead:
        """Write the rest of the file and return its head."""
        if self.rows:
            self._flush()
        self.writer.close()
        size = self.path.stat().st_size
        return {"rows": self.count, "bytes": size, "sha256": file_sha256(self.path)}

    def _flush(self) -> None:
        self.writer.write_batch(self.from_rows(self.rows, schema=self.schema))
        self.rows, self.bytes = [], 0


def _schema(name: str, with_images: bool) -> "pa.Schema":
    import pyarrow as pa

    def type_of(text: str) -> "pa.DataType":
        if text.endswith("[]"):
            return pa.list_(type_of(text[:-2]))
        return pa.type_for_alias(text)

    fields = [pa.field(column, type_of(text)) for column, text in COLUMNS[name].items()]
    if name != "images":
        return pa.schema(fields)
    # A struct of lists, which scripts for object detection on Hugging Face expect.
    box = pa.list_(pa.list_(pa.float64()))
    objects = {"bbox": box, "category": pa.list_(pa.string()), "area": pa.list_(pa.float64())}
    fields.append(pa.field("objects", pa.struct(objects)))
    if not with_images:
        return pa.schema(fields)
    image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    features = {"info": {"features": {"image": {"_type": "Image"}}}}
    fields.insert(0, pa.field("image", image))
    return pa.schema(fields, {"huggingface": json.dumps(features)})


def image_row(photo: Photograph, labels: list[Label], objects: list[Row], licence: str) -> Row:
    whole = [row for row in objects if not row["part"] and row.get("area") is not None]
    by_value: dict[str, list[str]] = {"yes": [], "no": [], "unknown": []}
    for label in labels:
        by_value[label.value].append(label.key)
    return {
        "name": photo.name,
        "width": photo.width,
        "height": photo.height,
        "sha256": photo.sha256,
        "licence": licence,
        "source": photo.source,
        **by_value,
        "objects": {
            "bbox": [[row[key] for key in ("x", "y", "width", "height")] for row in whole],
            "category": [row["class"] for row in whole],
            "area": [row["area"] for row in whole],
        },
    }


def label_row(label: Label) -> Row:
    return {
        "image": label.image,
        "class": label.key,
        "class_name": label.name,
        "value": label.value,
        "origin": label.origin,
        "probability": label.probability,
        "error": label.error,
        "votes": label.votes,
    }


def instance_rows(label: Label) -> Iterator[Row]:
    """Yield a row for each drawn instance of a label."""
    for instance in label.instances:
        yield {
            "image": label.image,
            "object": "",
            "class": label.key,
            "class_name": label.name,
            "part": "",
            "part_name": "",
            "state": "drawn",
            "origin": label.origin,
            **_shape(instance.box, instance.polygons),
            "flags": " ".join(instance.flags or ()),
        }


def object_rows(drawn: PartedObject, class_name: str, is_boxed: bool) -> Iterator[Row]:
    """Yield a row for the object, then one for each of its parts.

    An object without a box and without an outline has no shape.
    """
    row: Row = {
        "image": drawn.image,
        "object": drawn.name,
        "class": drawn.category,
        "class_name": class_name,
        "part": "",
        "part_name": "",
        "state": "drawn",
        "origin": "",
        "flags": "",
    }
    has_shape = is_boxed or drawn.outline
    yield row | (_shape(drawn.box, drawn.outline or ()) if has_shape else {})
    for part in drawn.parts:
        shape = _shape(to_shapely(part.polygons).bounds, part.polygons) if part.polygons else {}
        part_row = {"part": part.key, "part_name": part.name or part.key, "state": part.state}
        yield row | part_row | {"origin": part.origin} | shape


def _shape(box: tuple[float, ...], polygons: Polygons) -> Row:
    """Return box, area and polygons. area: of the polygons, or of the box if there are none."""
    x0, y0, x1, y1 = box
    return {
        "x": float(x0),
        "y": float(y0),
        "width": float(x1 - x0),
        "height": float(y1 - y0),
        "area": float(to_shapely(polygons).area if polygons else (x1 - x0) * (y1 - y0)),
        "polygons": json.dumps(as_json(polygons)) if polygons else None,
    }


def vote_row(vote: Row) -> Row:
    """Return the row of a line of votes.jsonl. value: a word, or the JSON of a drawing."""
    value = vote["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    row = {column: vote.get(column) for column in COLUMNS["votes"]}
    return row | {"topic": vote.get("wnid"), "value": text}
