"""Stored versions of question graphs, what is known of images, the learned order of questions."""
