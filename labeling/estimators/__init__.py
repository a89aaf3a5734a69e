"""Pure functions on votes: majority, posterior, Dawid–Skene, vote tables, agreement, intervals,
checks of annotators. Imports only modules at the root of labeling; no Django.
"""
