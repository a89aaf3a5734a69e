"""Part vocabularies: types, reading, checks and what changed between versions; shipped ones in
data/. No Django.
"""
