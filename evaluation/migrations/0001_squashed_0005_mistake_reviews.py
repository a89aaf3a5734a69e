"""The schema of the second edition, 0001 to 0005 in one, for a database that is new."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('evaluation', '0001_initial'),
        ('evaluation', '0002_cds_benchmarks'),
        ('evaluation', '0003_released_benchmarks'),
        ('evaluation', '0004_registered_models_and_pools'),
        ('evaluation', '0005_mistake_reviews'),
    ]

    initial = True

    dependencies = [
        ('labeling', '0001_squashed_0029_campaign_texts'),
    ]

    operations = [
        migrations.CreateModel(
            name='Benchmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('kind', models.CharField(choices=[('mad', 'MAD competition'), ('cds', 'CDS: how much of an object is needed'), ('classification', 'Classification'), ('localization', 'Localization'), ('detection', 'Detection'), ('wsol', 'WSOL: localization by score maps')], default='mad', max_length=20)),
                ('settings', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='benchmarks', to='labeling.campaign')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('naming', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='names_for', to='labeling.campaign')),
                ('release', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='benchmarks', to='labeling.release')),
            ],
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=8)),
                ('settings', models.JSONField(default=dict)),
                ('result', models.JSONField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='evaluation.benchmark')),
                ('release', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='labeling.release')),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('accuracy', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='submissions', to='evaluation.benchmark')),
                ('submitted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('is_people', models.BooleanField(default=False)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('attempts', models.PositiveIntegerField(default=1)),
            ],
            options={
                'ordering': ['position'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'name'), name='one_submission_per_benchmark_and_name'), models.UniqueConstraint(fields=('benchmark', 'position'), name='one_submission_per_benchmark_and_position')],
            },
        ),
        migrations.CreateModel(
            name='Selection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField()),
                ('image', models.CharField(max_length=400)),
                ('first_label', models.CharField(max_length=64)),
                ('second_label', models.CharField(max_length=64)),
                ('first_confidence', models.FloatField()),
                ('second_confidence', models.FloatField()),
                ('distance', models.FloatField()),
                ('state', models.CharField(choices=[('chosen', 'chosen'), ('reserve', 'in reserve'), ('dropped', 'dropped')], max_length=8)),
                ('benchmark', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='selections', to='evaluation.benchmark')),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='evaluation.submission')),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='evaluation.submission')),
            ],
            options={
                'ordering': ['first__position', 'second__position', 'rank'],
                'indexes': [models.Index(fields=['benchmark', 'image'], name='selection_by_image')],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'first', 'second', 'rank'), name='one_selection_per_pair_and_rank'), models.UniqueConstraint(fields=('benchmark', 'first', 'second', 'image'), name='one_selection_per_pair_and_image')],
            },
        ),
        migrations.CreateModel(
            name='RegisteredModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('spec', models.CharField(max_length=4000)),
                ('options', models.JSONField(default=list)),
                ('classes', models.JSONField()),
                ('source', models.JSONField()),
                ('registered_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('names', models.JSONField()),
                ('file', models.CharField(blank=True, max_length=200)),
                ('result', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='labeling.dataset')),
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.job')),
            ],
            options={
                'ordering': ['-pk'],
                'indexes': [models.Index(fields=['dataset', '-id'], name='pool_of_dataset')],
            },
        ),
        migrations.CreateModel(
            name='MistakeReview',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('meta', models.JSONField()),
                ('version', models.PositiveIntegerField(blank=True, null=True)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('result', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('applied_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('benchmark', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='evaluation.benchmark')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.campaign')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.release')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'campaign'), name='one_review_per_benchmark_and_campaign'), models.UniqueConstraint(fields=('benchmark', 'version'), name='one_review_per_benchmark_and_version')],
            },
        ),
    ]
