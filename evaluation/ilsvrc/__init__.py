"""ILSVRC: classification, localization and detection against files; and hp@k."""
