"""The schema of the second edition, 0001 to 0029 in one, for a database that is new.

What the replaced migrations did to rows is left out: a new database has none.
"""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import labeling.models.people
import uuid
from django.conf import settings
from django.core.management import call_command
from django.db import migrations, models
from django.db.models.lookups import LessThan

# The sample that figures of a campaign are drawn from: a multiplicative hash of the question.
PLACE = models.F("id") * 2_654_435_761 % 2**32
# The table of the shared cache, which counts logins that failed for all processes together.
CACHE_TABLE = "assay_cache"


def create_cache_table(apps, schema_editor):
    call_command(
        "createcachetable", CACHE_TABLE, database=schema_editor.connection.alias, verbosity=0
    )


def drop_cache_table(apps, schema_editor):
    schema_editor.execute(f"DROP TABLE {schema_editor.quote_name(CACHE_TABLE)}")


class Migration(migrations.Migration):

    replaces = [
        ('labeling', '0001_initial'),
        ('labeling', '0002_quality_and_question_graphs'),
        ('labeling', '0003_carry_standing_over'),
        ('labeling', '0004_assignment_given_back'),
        ('labeling', '0005_parts_vocabularies_drafts_and_quotas'),
        ('labeling', '0006_retry_failed_watch_jobs'),
        ('labeling', '0007_name_the_right_to_open_campaigns'),
        ('labeling', '0008_shared_cache_table'),
        ('labeling', '0009_question_counts'),
        ('labeling', '0010_count_questions'),
        ('labeling', '0011_index_questions_by_id_and_answers_by_ordinal'),
        ('labeling', '0012_index_question_sample'),
        ('labeling', '0013_job_child_process'),
        ('labeling', '0014_job_waits_since'),
        ('labeling', '0015_question_step_and_content'),
        ('labeling', '0016_question_by_topic'),
        ('labeling', '0017_questions_of_graphs_are_by_topic'),
        ('labeling', '0018_index_free_questions_by_topic'),
        ('labeling', '0019_candidates_of_classes'),
        ('labeling', '0020_image_queries_and_fingerprints'),
        ('labeling', '0021_answer_input_method'),
        ('labeling', '0022_flags_on_images'),
        ('labeling', '0023_settled_by_last_night'),
        ('labeling', '0024_tutorials_seen'),
        ('labeling', '0025_naming_looks_and_second_answers'),
        ('labeling', '0026_promptable_networks'),
        ('labeling', '0027_questions_taken_along'),
        ('labeling', '0028_answer_language'),
        ('labeling', '0029_campaign_texts'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('pseudonym', models.CharField(default=labeling.models.people.new_pseudonym, max_length=64, unique=True)),
                ('is_researcher', models.BooleanField(default=False, help_text='Makes datasets, campaigns and benchmarks. A right of the account; what somebody does in one campaign is their role there.', verbose_name='may open campaigns')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ('tutorials', models.JSONField(blank=True, default=list)),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('digest', models.CharField(max_length=128, primary_key=True, serialize=False)),
                ('token_key', models.CharField(db_index=True, max_length=25)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expiry', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('scope', models.CharField(choices=[('read', 'read'), ('write', 'read and write')], default='read', max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auth_token_set', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('description', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Vocabulary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('content', models.JSONField(default=dict)),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='vocabularies', to='labeling.dataset')),
            ],
            options={
                'verbose_name_plural': 'vocabularies',
                'constraints': [models.UniqueConstraint(fields=('dataset', 'version'), name='one_vocabulary_per_dataset_and_version')],
            },
        ),
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('kind', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('open', 'open'), ('paused', 'paused'), ('closed', 'closed')], default='draft', max_length=8)),
                ('instructions', models.TextField(blank=True)),
                ('settings', models.JSONField(blank=True, default=dict)),
                ('last_ticket', models.BigIntegerField(default=0)),
                ('floor_returned', models.BigIntegerField(default=0)),
                ('floor_fresh', models.BigIntegerField(default=0)),
                ('questions_asked', models.PositiveIntegerField(default=0)),
                ('questions_free', models.PositiveIntegerField(default=0)),
                ('counted_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='labeling.dataset')),
                ('vocabulary', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.vocabulary')),
                ('settled_nightly', models.PositiveIntegerField(db_default=0, default=0)),
                ('take_along', models.BooleanField(db_default=False, default=False)),
                ('languages', models.JSONField(blank=True, default=list)),
            ],
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('state', 'state changed'), ('policy', 'policy changed'), ('member', 'member changed'), ('gold', 'gold changed'), ('review', 'review verdict'), ('drop', 'image replaced'), ('block', 'person blocked'), ('unblock', 'block lifted'), ('stage', 'person trained, paused or let in'), ('graph', 'question graph changed'), ('audit', 'audit sample drawn'), ('quota', 'quota changed'), ('vocabulary', 'vocabulary changed'), ('class', 'class stopped or resumed')], max_length=10)),
                ('content', models.JSONField(default=dict)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='labeling.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('researcher', 'researcher'), ('reviewer', 'reviewer'), ('annotator', 'annotator')], default='annotator', max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('max_uses', models.PositiveIntegerField(default=1)),
                ('uses', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='labeling.campaign')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('uses__lte', models.F('max_uses'))), name='an_invitation_is_used_at_most_max_uses_times')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('key', models.CharField(max_length=200)),
                ('payload', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=8)),
                ('claim', models.CharField(blank=True, max_length=32)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('progress_done', models.PositiveBigIntegerField(default=0)),
                ('progress_total', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='labeling.campaign')),
                ('child_seen_at', models.DateTimeField(blank=True, null=True)),
                ('exit_code', models.SmallIntegerField(blank=True, null=True)),
                ('last_line', models.CharField(blank=True, default='', max_length=500)),
                ('waits_since', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['leased_until'], name='job_to_do')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'queued')), fields=('kind', 'key'), name='one_queued_job_per_kind_and_key')],
            },
        ),
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=1000)),
                ('path', models.CharField(blank=True, max_length=1000)),
                ('uploads', models.JSONField(blank=True, default=list)),
                ('licence', models.CharField(blank=True, max_length=200)),
                ('source', models.CharField(blank=True, max_length=500)),
                ('added', models.PositiveBigIntegerField(default=0)),
                ('duplicates', models.PositiveBigIntegerField(default=0)),
                ('refused', models.PositiveBigIntegerField(default=0)),
                ('report', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='labeling.dataset')),
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.job')),
                ('near', models.PositiveBigIntegerField(default=0)),
                ('options', models.JSONField(blank=True, default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='Image',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=400)),
                ('sha256', models.CharField(max_length=64)),
                ('file', models.FileField(max_length=200, upload_to='images/')),
                ('display', models.FileField(blank=True, max_length=200, upload_to='display/')),
                ('thumbnail', models.FileField(blank=True, max_length=200, upload_to='thumbnails/')),
                ('media_type', models.CharField(max_length=40)),
                ('bytes', models.PositiveBigIntegerField()),
                ('width', models.PositiveIntegerField()),
                ('height', models.PositiveIntegerField()),
                ('licence', models.CharField(blank=True, max_length=200)),
                ('source', models.CharField(blank=True, max_length=500)),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='images', to='labeling.dataset')),
                ('came_with', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='images', to='labeling.import')),
                ('fingerprint', models.BinaryField(null=True)),
                ('queries', models.JSONField(blank=True, default=list)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('dataset', 'name'), name='one_image_per_dataset_and_name'), models.UniqueConstraint(fields=('dataset', 'sha256'), name='one_image_per_dataset_and_content')],
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('region', models.JSONField(blank=True, null=True)),
                ('derived_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='derived', to='labeling.item')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='labeling.image')),
                ('name', models.CharField(blank=True, db_default='', default='', max_length=80)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('region__isnull', True)), fields=('image',), name='one_item_per_whole_image'), models.UniqueConstraint(condition=models.Q(('region__isnull', False)), fields=('image', 'name'), name='one_object_per_image_and_name')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('researcher', 'researcher'), ('reviewer', 'reviewer'), ('annotator', 'annotator')], default='annotator', max_length=12)),
                ('cursor_returned', models.BigIntegerField(default=0)),
                ('cursor_fresh', models.BigIntegerField(default=0)),
                ('cursor_gold', models.BigIntegerField(default=0)),
                ('answered', models.PositiveIntegerField(default=0)),
                ('worked_ms', models.PositiveBigIntegerField(default=0)),
                ('last_answered_at', models.DateTimeField(blank=True, null=True)),
                ('pages', models.PositiveIntegerField(default=0)),
                ('joined_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('left_at', models.DateTimeField(blank=True, null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='labeling.campaign')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('gold_share', models.FloatField(blank=True, null=True)),
                ('stage', models.CharField(choices=[('training', 'in training'), ('test', 'in the test'), ('failed', 'did not pass'), ('working', 'working'), ('paused', 'paused'), ('blocked', 'blocked')], default='working', max_length=8)),
                ('standing', models.JSONField(blank=True, default=dict)),
                ('working_since', models.DateTimeField(default=django.utils.timezone.now)),
                ('topics', models.JSONField(blank=True, null=True)),
                ('settled_before', models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'campaign'), name='one_membership_per_user_and_campaign')],
            },
        ),
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('content', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='policies', to='labeling.campaign')),
            ],
            options={
                'verbose_name_plural': 'policies',
                'constraints': [models.UniqueConstraint(fields=('campaign', 'version'), name='one_policy_per_campaign_and_version')],
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('folder', models.CharField(max_length=300)),
                ('sha256', models.CharField(max_length=64)),
                ('counts', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='labeling.campaign')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'number'), name='one_release_per_campaign_and_number')],
            },
        ),
        migrations.CreateModel(
            name='Topic',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=200)),
                ('synonyms', models.JSONField(blank=True, default=list)),
                ('definition', models.TextField(blank=True)),
                ('url', models.URLField(blank=True, max_length=400)),
                ('guidance', models.TextField(blank=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='topics', to='labeling.campaign')),
                ('siblings', models.JSONField(blank=True, default=list)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'key'), name='one_topic_per_campaign_and_key')],
            },
        ),
        migrations.CreateModel(
            name='Example',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.CharField(max_length=20)),
                ('caption', models.CharField(blank=True, max_length=200)),
                ('token', models.CharField(default=labeling.models.people.new_token, max_length=32, unique=True)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.image')),
                ('topic', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='labeling.topic')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('topic', 'image'), name='one_example_per_topic_and_image')],
            },
        ),
        migrations.CreateModel(
            name='Calibration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('content', models.JSONField(default=dict)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calibrations', to='labeling.campaign')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'number'), name='one_calibration_per_campaign_and_number')],
            },
        ),
        migrations.CreateModel(
            name='GivenLabel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64)),
                ('value', models.CharField(choices=[('yes', 'yes'), ('no', 'no')], default='yes', max_length=3)),
                ('geometry', models.JSONField(blank=True, null=True)),
                ('source', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='given_labels', to='labeling.item')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('item', 'key', 'source'), name='one_given_label_per_item_key_and_source')],
            },
        ),
        migrations.CreateModel(
            name='Graph',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('content', models.JSONField(default=dict)),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='graphs', to='labeling.campaign')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'version'), name='one_graph_per_campaign_and_version')],
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('topic', models.CharField(max_length=64)),
                ('round', models.SmallIntegerField(default=0)),
                ('subject', models.BigIntegerField(blank=True, null=True)),
                ('lane', models.SmallIntegerField(choices=[(0, 'returned, or one more vote'), (1, 'fresh'), (2, 'gold')], default=1)),
                ('ticket', models.BigIntegerField()),
                ('seats_free', models.SmallIntegerField(default=0)),
                ('state', models.CharField(choices=[('open', 'open'), ('settled', 'settled'), ('dropped', 'dropped'), ('review', 'in review'), ('withdrawn', 'withdrawn'), ('gold', 'gold')], default='open', max_length=10)),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='labeling.campaign')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='labeling.item')),
                ('policy', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policy')),
                ('follow_up', models.BooleanField(default=False)),
                ('graph', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.graph')),
                ('step', models.CharField(blank=True, db_default='', default='', max_length=8)),
                ('content', models.JSONField(blank=True, null=True)),
                ('by_topic', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('seats_free__gt', 0)), fields=['campaign', 'lane', 'ticket'], name='question_with_free_seats'), models.Index(condition=models.Q(('follow_up', True)), fields=['campaign'], name='question_to_follow_up'), models.Index(fields=['campaign', 'state', 'id'], name='question_by_state_and_id'), models.Index(condition=models.Q(('subject__isnull', False)), fields=['campaign', 'subject'], name='question_about_subject'), models.Index(models.F('campaign'), models.F('state'), PLACE, models.F('id'), condition=models.Q(LessThan(PLACE, 67108864)), name='question_in_sample'), models.Index(condition=models.Q(('by_topic', True), ('seats_free__gt', 0)), fields=['campaign', 'lane', 'topic', 'ticket'], name='question_free_by_topic')],
                'constraints': [models.UniqueConstraint(fields=('campaign', 'item', 'topic', 'round'), name='one_question_per_campaign_item_topic_and_round'), models.CheckConstraint(condition=models.Q(('seats_free', 0), models.Q(('seats_free__gt', 0), ('state__in', ['open', 'gold'])), _connector='OR'), name='only_open_questions_and_gold_have_free_seats')],
            },
        ),
        migrations.CreateModel(
            name='Gold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.JSONField()),
                ('explanation', models.TextField(blank=True)),
                ('source', models.CharField(blank=True, max_length=200)),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
                ('question', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='gold', to='labeling.question')),
            ],
            options={
                'verbose_name_plural': 'gold',
            },
        ),
        migrations.CreateModel(
            name='Settlement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.JSONField(null=True)),
                ('probability', models.FloatField(null=True)),
                ('answers', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('policy', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policy')),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='settlements', to='labeling.question')),
                ('reviewed', models.BooleanField(default=False)),
                ('calibration', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.calibration')),
            ],
        ),
        migrations.CreateModel(
            name='Audit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sample', models.PositiveIntegerField()),
                ('value', models.JSONField(blank=True, null=True)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('auditor', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='audits', to='labeling.campaign')),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='audits', to='labeling.question')),
                ('settlement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.settlement')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('question', 'sample'), name='one_audit_per_question_and_sample')],
            },
        ),
        migrations.CreateModel(
            name='Quota',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('topic', models.CharField(max_length=64)),
                ('images', models.PositiveIntegerField()),
                ('done', models.PositiveIntegerField(default=0)),
                ('membership', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quotas', to='labeling.membership')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('membership', 'topic'), name='one_quota_per_membership_and_topic')],
            },
        ),
        migrations.CreateModel(
            name='QuestionCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('open', models.BigIntegerField(default=0)),
                ('settled', models.BigIntegerField(default=0)),
                ('dropped', models.BigIntegerField(default=0)),
                ('review', models.BigIntegerField(default=0)),
                ('withdrawn', models.BigIntegerField(default=0)),
                ('gold', models.BigIntegerField(default=0)),
                ('free', models.BigIntegerField(default=0)),
                ('seats_free', models.BigIntegerField(default=0)),
                ('repeated', models.BigIntegerField(default=0)),
                ('images', models.BigIntegerField(default=0)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='question_counts', to='labeling.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('asking', 'being asked'), ('stopped', 'stopped')], default='asking', max_length=8)),
                ('reason', models.CharField(blank=True, choices=[('precision', 'precision reached'), ('money', 'money spent'), ('hand', 'by hand')], default='', max_length=10)),
                ('waived', models.CharField(blank=True, choices=[('precision', 'precision reached'), ('money', 'money spent'), ('hand', 'by hand')], default='', max_length=10)),
                ('withdrawn', models.JSONField(blank=True, default=list)),
                ('candidates', models.PositiveIntegerField(default=0)),
                ('asked', models.PositiveIntegerField(default=0)),
                ('open', models.PositiveIntegerField(default=0)),
                ('yes', models.PositiveIntegerField(default=0)),
                ('no', models.PositiveIntegerField(default=0)),
                ('answers', models.PositiveIntegerField(default=0)),
                ('cost', models.FloatField(default=0)),
                ('by_table', models.FloatField(null=True)),
                ('precision', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('audited', models.PositiveIntegerField(default=0)),
                ('wrong', models.PositiveIntegerField(default=0)),
                ('has_table', models.BooleanField(default=False)),
                ('looked_at', models.DateTimeField(null=True)),
                ('topic', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='verification', to='labeling.topic')),
            ],
        ),
        migrations.CreateModel(
            name='Candidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query', models.CharField(max_length=200)),
                ('question', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='labeling.question')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('question', 'query'), name='one_candidate_per_question_and_query')],
            },
        ),
        migrations.CreateModel(
            name='NamedProposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keys', models.JSONField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='labeling.campaign')),
                ('image', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.image')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'image'), name='one_named_proposal_per_campaign_and_image')],
            },
        ),
        migrations.CreateModel(
            name='SegmentationNetwork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('sha256', models.CharField(max_length=64)),
                ('encoder_sha256', models.CharField(max_length=64)),
                ('decoder_sha256', models.CharField(max_length=64)),
                ('preparation', models.JSONField()),
                ('embedding_bytes', models.PositiveIntegerField()),
                ('budget', models.PositiveBigIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='segmentation_network', to='labeling.campaign')),
                ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='labeling.job')),
            ],
        ),
        migrations.CreateModel(
            name='ImageEmbedding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.CharField(max_length=200)),
                ('sha256', models.CharField(max_length=64)),
                ('bytes', models.PositiveIntegerField()),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='labeling.image')),
                ('network', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='labeling.segmentationnetwork')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('network', 'image'), name='one_embedding_per_network_and_image')],
            },
        ),
        migrations.CreateModel(
            name='TakenAlong',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.UUIDField(unique=True)),
                ('seats', models.PositiveSmallIntegerField()),
                ('taken_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('until', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('ended_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('membership', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='taken_along', to='labeling.membership')),
            ],
            options={
                'verbose_name_plural': 'taken along',
                'indexes': [models.Index(fields=['membership', 'taken_at'], name='taken_along_by_time')],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.BigIntegerField()),
                ('token', models.CharField(default=labeling.models.people.new_token, max_length=32)),
                ('state', models.CharField(choices=[('leased', 'leased'), ('answered', 'answered'), ('returned', 'returned'), ('closed', 'closed'), ('barred', 'barred')], default='leased', max_length=8)),
                ('leased_until', models.DateTimeField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ordinal', models.PositiveIntegerField(blank=True, null=True)),
                ('annotator', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to=settings.AUTH_USER_MODEL)),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='labeling.question')),
                ('taken_along', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='assignments', to='labeling.takenalong')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'leased')), fields=['leased_until'], name='assignment_under_lease'), models.Index(condition=models.Q(('state', 'leased')), fields=['annotator'], name='assignment_open_by_annotator'), models.Index(condition=models.Q(('state', 'returned')), fields=['annotator'], name='assignment_given_back'), models.Index(condition=models.Q(('ordinal__isnull', False)), fields=['annotator', 'ordinal'], name='assignment_by_ordinal'), models.Index(condition=models.Q(('taken_along__isnull', False)), fields=['taken_along'], name='assignment_taken_along')],
                'constraints': [models.UniqueConstraint(fields=('annotator', 'subject'), name='one_seat_per_annotator_and_subject'), models.UniqueConstraint(fields=('token',), name='one_seat_per_token')],
            },
        ),
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('revision', models.PositiveSmallIntegerField(default=0)),
                ('value', models.JSONField()),
                ('duration_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('late', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='labeling.assignment')),
                ('input_method', models.CharField(blank=True, choices=[('key', 'a key'), ('tap', 'a button, by mouse or finger'), ('swipe', 'a swipe'), ('done', 'Done, with a page of images')], max_length=5, null=True)),
                ('looks', models.JSONField(blank=True, null=True)),
                ('language', models.CharField(blank=True, max_length=10, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('assignment', 'revision'), name='one_answer_per_assignment_and_revision')],
            },
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.JSONField(default=dict)),
                ('version', models.PositiveIntegerField(default=1)),
                ('device', models.CharField(blank=True, max_length=32)),
                ('saved_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='draft', to='labeling.assignment')),
            ],
        ),
        migrations.CreateModel(
            name='SentBack',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('note', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answer', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='sent_back', to='labeling.answer')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sent_back', to='labeling.assignment')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Flag',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('note', models.CharField(max_length=500)),
                ('reply', models.CharField(blank=True, max_length=500)),
                ('replied_at', models.DateTimeField(blank=True, null=True)),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to=settings.AUTH_USER_MODEL)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='labeling.assignment')),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='flags', to='labeling.campaign')),
                ('replied_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('replied_at', None)), fields=['campaign', 'created_at'], name='flag_to_answer'), models.Index(fields=['campaign', '-created_at'], name='flag_of_campaign')],
            },
        ),
        migrations.CreateModel(
            name='SecondAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shown', models.JSONField()),
                ('value', models.JSONField(blank=True, null=True)),
                ('looks', models.JSONField(blank=True, null=True)),
                ('duration_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('shown_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='second_answer', to='labeling.assignment')),
            ],
        ),
        migrations.CreateModel(
            name='Assistance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assisted', models.BooleanField()),
                ('decided_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='assistance', to='labeling.assignment')),
            ],
        ),
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=labeling.models.people.new_token, max_length=32)),
                ('part', models.CharField(max_length=200)),
                ('prompts', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('polygons', models.JSONField()),
                ('score', models.FloatField(blank=True, null=True)),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='proposals', to='labeling.assignment')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='proposal_by_moment')],
                'constraints': [models.UniqueConstraint(fields=('assignment', 'digest'), name='one_proposal_per_seat_and_question'), models.UniqueConstraint(fields=('token',), name='one_proposal_per_token')],
            },
        ),
        migrations.CreateModel(
            name='CampaignText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('language', models.CharField(max_length=10)),
                ('content', models.JSONField(default=dict)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='texts', to='labeling.campaign')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'language'), name='one_text_per_campaign_and_language')],
            },
        ),
        migrations.AddField(
            model_name='campaign',
            name='calibration',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.calibration'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='graph',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.graph'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='policy',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policy'),
        ),
        migrations.RunPython(create_cache_table, drop_cache_table),
    ]
