"""Run work as tasks in several processes or on a cluster.

Each task puts one object into a store. Pure; imports readers and the packages above it. Only
`--on ray:…` imports Ray.
"""
