"""The sample that figures of a campaign are drawn from, so that drawing it reads no whole index."""

from django.db import migrations, models
from django.db.models.lookups import LessThan

PLACE = models.F("id") * 2_654_435_761 % 2**32


class Migration(migrations.Migration):
    dependencies = [("labeling", "0011_index_questions_by_id_and_answers_by_ordinal")]

    operations = [
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                *(models.F("campaign"), models.F("state"), PLACE, models.F("id")),
                condition=models.Q(LessThan(PLACE, 2**26)),
                name="question_in_sample",
            ),
        ),
    ]
