"""The tables of a CDS result: the columns of its CSV files and pages."""

from functools import partial

from evaluation.benchmarks.tables import Column, Table
from evaluation.scoring.cds import tables

TABLES = tuple(
    Table(name, partial(tables.rows_of, name=name), tuple(Column(key) for key in keys))
    for name, keys in tables.TABLES.items()
)
