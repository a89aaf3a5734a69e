"""The device on which runs of benchmarks are computed: the setting ASSAY_SCORING_DEVICE."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from evaluation import devices
from labeling.files import BadInput


def scoring_device() -> str:
    """Return the device for a run on this worker's machine.

    Raises ImproperlyConfigured if it is missing. Unlike a Refusal, this lets the job try again, in
    case the setting or the machine is fixed meanwhile.
    """
    try:
        return devices.check_device(settings.ASSAY_SCORING_DEVICE)
    except BadInput as error:
        cure = (error.cure or "").replace("--device ", "ASSAY_SCORING_DEVICE=")
        raise ImproperlyConfigured(f"ASSAY_SCORING_DEVICE: {error.message}; {cure}") from error
