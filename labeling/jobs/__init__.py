"""Background jobs, kept uploads and the store of image files. Imports db and models."""
