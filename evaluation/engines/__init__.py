"""Work cut into tasks, run in several processes or on a cluster.

Each task puts one object into a store. Pure; imports readers and what is above it. Ray is imported
by `--on ray:…` alone.
"""
