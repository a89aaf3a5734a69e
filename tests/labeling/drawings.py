"""Drawings for tests: squares, and answers of the kind parts."""

from typing import Any

from labeling.geometry.polygons import Polygons, as_json

CAT = "n02121620"
SETTINGS: dict[str, Any] = {
    "categories": {
        CAT: {
            "name": "cat",
            "guidance": "",
            "parts": [
                {"key": "head", "name": "head", "several": False, "holes": False},
                {"key": "leg", "name": "leg", "several": True, "holes": False},
                {"key": "tail", "name": "tail", "several": False, "holes": False},
            ],
        }
    },
    "ask_half": True,
    "ask_outline": False,
}


def square(x: float, y: float, side: float) -> Polygons:
    return ((((x, y), (x + side, y), (x + side, y + side), (x, y + side)),),)


def drawn(polygons: Polygons) -> dict[str, Any]:
    return {"state": "drawn", "polygons": as_json(polygons)}


def answer(half: bool | None = True, **parts: Any) -> dict[str, Any]:
    """An answer that draws these parts (polygons), or says a state of them (a word)."""
    value = {
        key: {"state": part} if isinstance(part, str) else drawn(part)
        for key, part in parts.items()
    }
    return {"parts": value, "half": half, "outline": None}
