"""Pure functions on votes: majority, posterior, Dawid–Skene, vote tables, agreement, intervals,
checks of annotators. Imports the files at the root of labeling alone; no Django.
"""
