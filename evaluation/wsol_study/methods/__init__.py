"""The methods of the study, one module each. Importing this package imports torch."""

from collections.abc import Mapping

from evaluation.wsol_study.methods.base import WsolMethod
from evaluation.wsol_study.methods.cam import ClassActivationMapping
from evaluation.wsol_study.methods.has import HideAndSeek

METHODS: Mapping[str, WsolMethod] = {
    method.name: method for method in (ClassActivationMapping(), HideAndSeek())
}
