import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
application = get_wsgi_application()

from annotator.checks import refuse_insecure_key  # noqa: E402 — settings must be ready

refuse_insecure_key()
