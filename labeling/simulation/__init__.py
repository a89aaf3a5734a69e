"""Cost and error of a policy or a graph on simulated answers; methods of `aggregate`. Imports
estimators, kinds and question_graph; no Django.
"""
