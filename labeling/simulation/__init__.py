"""What a policy or a graph will cost, and how wrong it will be, on made-up answers; the methods of
`aggregate`. Imports estimators, kinds and question_graph; no Django.
"""
