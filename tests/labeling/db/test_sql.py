import pytest

from labeling.db.sql import in_runs
from labeling.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "ids", [[], [7], [3, 4, 5], [9, 3, 4, 5, 5], [1, 2, 4, 6, 7, 8, 9, 12, 20, 21]]
)
def test_runs_are_exactly_the_ids(ids):
    User.objects.bulk_create(User(pk=pk, username=f"u{pk}") for pk in range(1, 25))

    users = User.objects.filter(in_runs("pk", ids)).values_list("pk", flat=True)

    assert sorted(users) == sorted(set(ids))


def test_ids_in_a_row_are_one_range_of_the_index():
    condition = str(User.objects.filter(in_runs("pk", [30, *range(10, 20)])).query)

    assert ">= 10" in condition
    assert "<= 19" in condition
    assert "IN (30)" in condition
