"""Work cut into tasks, run in several processes or on a cluster: each task puts one object into a store.

Pure; imports readers and what is above. Ray is imported by `--on ray:…` alone.
"""
