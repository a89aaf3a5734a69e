from django.apps import AppConfig
from django.conf import settings


class LabelingConfig(AppConfig):
    name = "labeling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.utils.translation import gettext

        from labeling import sentences
        from labeling.kinds import KINDS

        sentences.translate_with(gettext)
        KINDS.read_from(lambda: settings.ASSAY_QUESTION_KINDS)
