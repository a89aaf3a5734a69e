"""Benchmarks that build a world in the database run at a small size, whatever they measure."""

import pytest

from benchmarks import bench_assigning, bench_freeze, bench_pages, own_process

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]


def test_assigning_runs():
    assert bench_assigning.main(2_000, ("sqlite",))


def test_pages_runs():
    assert bench_pages.main((3_000, 6_000))


def test_freeze_runs(tmp_path):
    with own_process.postgres() as url:
        assert url
        site = bench_freeze.Site(url, str(tmp_path))
        site.call("prepare", 600)
        assert site.call("freeze")["sha256"]
