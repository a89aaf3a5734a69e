from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("labeling", "0020_image_queries_and_fingerprints"),
    ]

    operations = [
        migrations.AddField(
            model_name="answer",
            name="input_method",
            field=models.CharField(
                blank=True,
                choices=[
                    ("key", "a key"),
                    ("tap", "a button, by mouse or finger"),
                    ("swipe", "a swipe"),
                    ("done", "Done, with a page of images"),
                ],
                max_length=5,
                null=True,
            ),
        ),
    ]
