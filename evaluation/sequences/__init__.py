"""Part sequences of a release's objects: crops, part orders, frames. No Django."""
