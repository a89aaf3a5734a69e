"""Question graphs: validated, replayed over answers, ordered, planned per image; shipped ones in
data/. No Django.
"""
