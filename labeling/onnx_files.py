"""Inspects an ONNX file before a runtime opens it. No Django, no ONNX library.

`check` parses the messages (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) of a mapped
file and skips tensor data. A file with too large tensors, external data or foreign operators is
refused before any runtime loads it.
"""

import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from labeling.files import BadInput

GIB = 1 << 30
# The largest message that protobuf writes.
MAX_FILE_BYTES = 2 * GIB
# Bytes of all tensors in memory; sparse ones take far fewer bytes in the file.
MAX_TENSORS = 4 * GIB
MAX_PARTS = 5_000_000
MAX_NESTING = 32
# The standard's operators, and those that are built into onnxruntime.
DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
# Bits of an element by TensorProto.DataType. Strings (8) count 0: their bytes are in the file.
BITS = {
    1: 32,
    2: 8,
    3: 8,
    4: 16,
    5: 16,
    6: 32,
    7: 64,
    8: 0,
    9: 8,
    10: 16,
    11: 64,
    12: 32,
    13: 64,
    14: 64,
    15: 128,
    16: 16,
    17: 8,
    18: 8,
    19: 8,
    20: 8,
    21: 4,
    22: 4,
    23: 4,
    24: 8,
}
WIDEST = 128
EXTERNAL = 1
# Fields of messages, by their numbers.
MODEL = {"graph": 7, "functions": 25, "training": 20}
TRAINING_GRAPHS = (1, 2)
GRAPH = {"node": 1, "initializer": 5, "sparse": 15}
FUNCTION = {"name": 1, "node": 7, "domain": 10, "attribute": 11}
NODE = {"operator": 4, "attribute": 5, "domain": 7}
ATTRIBUTE = {"tensor": 5, "graph": 6, "tensors": 10, "graphs": 11, "sparse": 22, "sparses": 23}
SPARSE = {"values": 1, "indices": 2, "dims": 3}
TENSOR = {"dims": 1, "type": 2, "external": 13, "location": 14}
Value = int | memoryview


def check(path: Path, most_parts: int | None = None) -> None:
    """Raise BadInput for a file that must not be loaded.

    That is: over MAX_FILE_BYTES, tensors of over MAX_TENSORS, external data, operators outside
    DOMAINS and the file's own functions, or no ONNX at all. most_parts: by default MAX_PARTS;
    each takes about 250 bytes of memory and 3 µs.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise _refused(path, f"has {size / GIB:.1f} GiB, at most 2 are read", "take a smaller one")
    if size == 0:
        raise _damaged(path)
    with path.open("rb") as file:
        # It closes once nothing refers to it, tracebacks included.
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _OnnxCheck(path, most_parts or MAX_PARTS).model(memoryview(content))


@dataclass
class _OnnxCheck:
    """Counts over one file."""

    path: Path
    most_parts: int
    tensors: int = 0
    parts: int = 0
    functions: set[tuple[str, str]] = field(default_factory=set)

    def model(self, message: memoryview) -> None:
        fields = [(number, value) for number, value in self.fields(message)]
        functions = _messages(fields, MODEL["functions"])
        for function in functions:
            function_fields = list(self.fields(function))
            self.functions.add(
                (
                    _text(function_fields, FUNCTION["domain"]),
                    _text(function_fields, FUNCTION["name"]),
                )
            )
        for function in functions:
            function_fields = list(self.fields(function))
            for node in _messages(function_fields, FUNCTION["node"]):
                self.node(node, 1)
            for attribute in _messages(function_fields, FUNCTION["attribute"]):
                self.attribute(attribute, 1)
        graphs = _messages(fields, MODEL["graph"])
        if not graphs:
            raise _damaged(self.path)
        for training in _messages(fields, MODEL["training"]):
            graphs += _messages(list(self.fields(training)), *TRAINING_GRAPHS)
        for graph in graphs:
            self.graph(graph, 1)

    def graph(self, message: memoryview, depth: int) -> None:
        if depth > MAX_NESTING:
            raise _damaged(self.path)
        for number, value in self.fields(message):
            if isinstance(value, int):
                continue
            if number == GRAPH["node"]:
                self.node(value, depth)
            elif number == GRAPH["initializer"]:
                self.tensor(value)
            elif number == GRAPH["sparse"]:
                self.sparse(value)

    def node(self, message: memoryview, depth: int) -> None:
        fields = list(self.fields(message))
        domain, operator = _text(fields, NODE["domain"]), _text(fields, NODE["operator"])
        if domain not in DOMAINS and (domain, operator) not in self.functions:
            raise _refused(
                self.path,
                f"has the operator {operator[:80]!r} of {domain[:80]!r}, which is not ONNX's",
                "export it with standard operators only",
            )
        for attribute in _messages(fields, NODE["attribute"]):
            self.attribute(attribute, depth)

    def attribute(self, message: memoryview, depth: int) -> None:
        for number, value in self.fields(message):
            if isinstance(value, int):
                continue
            if number in (ATTRIBUTE["tensor"], ATTRIBUTE["tensors"]):
                self.tensor(value)
            elif number in (ATTRIBUTE["sparse"], ATTRIBUTE["sparses"]):
                self.sparse(value)
            elif number in (ATTRIBUTE["graph"], ATTRIBUTE["graphs"]):
                self.graph(value, depth + 1)

    def tensor(self, message: memoryview, dims: list[int] | None = None) -> None:
        """Check a tensor. dims: of the sparse tensor whose values it holds."""
        kind, location, shape, bits = 0, 0, [], WIDEST
        for number, value in self.fields(message):
            if number == TENSOR["dims"]:
                shape += self.numbers(value)
            elif number == TENSOR["type"] and isinstance(value, int):
                kind = value
            elif number == TENSOR["location"] and isinstance(value, int):
                location = value
            elif number == TENSOR["external"]:
                location = EXTERNAL
        if location == EXTERNAL:
            raise _refused(
                self.path,
                "has tensors in other files",
                "save it as one file (onnx.save without save_as_external_data)",
            )
        bits = BITS.get(kind, WIDEST)
        # A negative length, written as a large number, is refused by the bound too.
        self.tensors += math.prod(shape if dims is None else dims) * bits // 8
        if self.tensors > MAX_TENSORS:
            raise _refused(
                self.path, f"has tensors of over {MAX_TENSORS // GIB} GiB", "take a smaller one"
            )

    def sparse(self, message: memoryview) -> None:
        fields = list(self.fields(message))
        dims = [
            length
            for number, value in fields
            if number == SPARSE["dims"]
            for length in self.numbers(value)
        ]
        for values in _messages(fields, SPARSE["values"]):
            self.tensor(values, dims)
        for indices in _messages(fields, SPARSE["indices"]):
            self.tensor(indices)

    def numbers(self, value: Value) -> list[int]:
        """Return repeated whole numbers, packed or single."""
        if isinstance(value, int):
            return [value]
        values, position = [], 0
        while position < len(value):
            number, position = self.varint(value, position)
            values.append(number)
            self.count()
        return values

    def fields(self, message: memoryview) -> Iterator[tuple[int, Value]]:
        """Yield number and value of each field: an int, or bytes."""
        position = 0
        while position < len(message):
            self.count()
            key, position = self.varint(message, position)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, position = self.varint(message, position)
                yield number, value
                continue
            if wire == 2:
                length, position = self.varint(message, position)
            elif wire in (1, 5):
                length = 8 if wire == 1 else 4
            else:
                raise _damaged(self.path)
            if number == 0 or position + length > len(message):
                raise _damaged(self.path)
            if wire == 2:
                yield number, message[position : position + length]
            position += length

    def varint(self, message: memoryview, position: int) -> tuple[int, int]:
        value = shift = 0
        while position < len(message) and shift < 70:
            byte = message[position]
            value |= (byte & 127) << shift
            position, shift = position + 1, shift + 7
            if byte < 128:
                return value, position
        raise _damaged(self.path)

    def count(self) -> None:
        self.parts += 1
        if self.parts > self.most_parts:
            raise _refused(self.path, f"has over {self.most_parts:,} parts", "take a smaller one")


def _messages(fields: list[tuple[int, Value]], *numbers: int) -> list[memoryview]:
    return [
        value for number, value in fields if number in numbers and isinstance(value, memoryview)
    ]


def _text(fields: list[tuple[int, Value]], number: int) -> str:
    texts = _messages(fields, number)
    return bytes(texts[-1][:1000]).decode(errors="replace") if texts else ""


def _damaged(path: Path) -> BadInput:
    return _refused(path, "cannot be read as ONNX", "export it again")


def _refused(path: Path, message: str, cure: str) -> BadInput:
    return BadInput(message, file=path, cure=cure)
