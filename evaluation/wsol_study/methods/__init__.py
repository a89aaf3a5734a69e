"""The methods of the study, one module each. Importing this package imports torch."""

from collections.abc import Mapping

from evaluation.wsol_study.methods.acol import AdversarialComplementaryLearning
from evaluation.wsol_study.methods.adl import AttentionDropout
from evaluation.wsol_study.methods.base import WsolMethod
from evaluation.wsol_study.methods.cam import ClassActivationMapping
from evaluation.wsol_study.methods.cutmix import CutMix
from evaluation.wsol_study.methods.fsl import FewShotLearning
from evaluation.wsol_study.methods.has import HideAndSeek
from evaluation.wsol_study.methods.spg import SelfProducedGuidance

# In the order of hyperparameters.SPACES.
_CLASSES: list[type[WsolMethod]] = [
    ClassActivationMapping,
    HideAndSeek,
    AdversarialComplementaryLearning,
    SelfProducedGuidance,
    AttentionDropout,
    CutMix,
    FewShotLearning,
]
METHODS: Mapping[str, WsolMethod] = {kind.name: kind() for kind in _CLASSES}
