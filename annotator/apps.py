from django.apps import AppConfig


class AnnotatorConfig(AppConfig):
    name = "annotator"

    def ready(self) -> None:
        from annotator import checks  # noqa: F401 — importing registers them
