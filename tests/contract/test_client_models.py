"""The models of the Python client are those of the schema."""

import json
import sys
from pathlib import Path

from rest_framework.utils.encoders import JSONEncoder

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "python"


def test_the_models_of_the_client_are_those_of_the_schema(schema, kept, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(CLIENT), *sys.path])
    import generate

    current = json.loads(json.dumps(schema, cls=JSONEncoder))

    kept(str(generate.TARGET), generate.source_of(current))
