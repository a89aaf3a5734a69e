from django.db import migrations


class Migration(migrations.Migration):
    """Drop questions taken along.

    A seat of a set stays leased until its time and is then like any other: the person's page shows
    it, an answer to it is taken, and the sweep returns it.
    """

    dependencies = [
        ('labeling', '0033_username_key'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='assignment', name='assignment_taken_along'),
        migrations.RemoveField(model_name='assignment', name='taken_along'),
        migrations.DeleteModel(name='TakenAlong'),
        migrations.RemoveField(model_name='campaign', name='take_along'),
    ]
