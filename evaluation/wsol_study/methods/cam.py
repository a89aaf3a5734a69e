"""CAM (Zhou et al. 2016): a classifier with a global average pool."""

from evaluation.wsol_study.methods.base import WsolMethod


class ClassActivationMapping(WsolMethod):
    """CAM: cross-entropy; the map is the logit of the class before the pool."""

    name = "cam"
