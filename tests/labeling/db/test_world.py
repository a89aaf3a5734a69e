from labeling.db import question_counts
from labeling.models import Campaign


def test_every_campaign_of_the_world_is_counted(world):
    pks = list(Campaign.objects.values_list("pk", flat=True))

    assert len(pks) > 2
    assert {pk: question_counts.differences(pk) for pk in pks} == {pk: {} for pk in pks}
