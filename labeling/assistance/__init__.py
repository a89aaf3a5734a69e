"""A promptable network for people who draw: its campaigns, embeddings, arms and proposals."""
