from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('labeling', '0019_candidates_of_classes'),
    ]

    operations = [
        migrations.AddField(
            model_name='image',
            name='fingerprint',
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name='image',
            name='queries',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name='import',
            name='near',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='import',
            name='options',
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
