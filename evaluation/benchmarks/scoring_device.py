"""Where runs of benchmarks are computed: what the setting ASSAY_SCORING_DEVICE says."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from evaluation import devices
from labeling.files import BadInput


def scoring_device() -> str:
    """Return the device for a run, on the machine of the worker that asks.

    Raises ImproperlyConfigured where it is not here, which is no refusal of a run: once the setting
    or the machine is mended, the same is scored again.
    """
    try:
        return devices.checked(settings.ASSAY_SCORING_DEVICE)
    except BadInput as error:
        cure = (error.cure or "").replace("--device ", "ASSAY_SCORING_DEVICE=")
        raise ImproperlyConfigured(f"ASSAY_SCORING_DEVICE: {error.message}; {cure}") from error
