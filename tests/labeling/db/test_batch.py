import pytest
from django.db import connection

from labeling.db import batch

pytestmark = pytest.mark.django_db


def test_lookups_read_by_keys_and_hold_no_lock(django_assert_num_queries):
    # SQLite: a transaction of ours takes the write lock at once.
    with django_assert_num_queries(3 if connection.vendor == "postgresql" else 0), batch.lookups():
        pass
    if connection.vendor == "postgresql":
        with batch.lookups(), connection.cursor() as cursor:
            cursor.execute("SHOW random_page_cost")
            assert cursor.fetchone() == ("1.1",)
