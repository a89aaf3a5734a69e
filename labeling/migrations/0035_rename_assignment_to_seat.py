import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename the model Assignment to Seat; its table keeps its name.

    No statement is issued: RenameModel leaves a table alone whose name is set. It is not wrapped in
    SeparateDatabaseAndState, since Django looks for it here to rename the content type.
    """

    dependencies = [
        ('labeling', '0034_drop_questions_taken_along'),
    ]

    operations = [
        migrations.AlterModelTable(name='assignment', table='labeling_assignment'),
        migrations.RenameModel(old_name='Assignment', new_name='Seat'),
        migrations.AlterField(
            model_name='seat',
            name='annotator',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='seats', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='seat',
            name='question',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='labeling.question'),
        ),
    ]
