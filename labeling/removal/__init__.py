"""Rename, archive, clone and delete campaigns, datasets and images."""
