"""Campaigns: life cycle, topics and policy; access rights and visible names."""
