"""Campaigns, labels and benchmarks of an Assay site from Python."""

from assay_client.client import AssayClient
from assay_client.errors import JobFailed, Problem

__all__ = ["AssayClient", "JobFailed", "Problem"]
