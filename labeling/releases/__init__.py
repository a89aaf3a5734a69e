"""Releases frozen from a campaign: labels, votes, graph and parts."""
