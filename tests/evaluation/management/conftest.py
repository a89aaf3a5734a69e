import pytest

from tests.evaluation.engines import toys


@pytest.fixture(autouse=True)
def _one_process_here(monkeypatch) -> None:
    monkeypatch.setattr("evaluation.engines.local.run", toys.run_one_here)
