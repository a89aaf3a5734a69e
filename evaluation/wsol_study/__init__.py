"""The study of Choe et al. 2022: networks, methods, random search, tables. No Django.

Modules at the root and in `report` do without torch.
"""
