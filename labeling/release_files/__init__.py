"""A frozen release as files: written, read and exported. Imports formats, kinds, parts and
question_graph; no Django.
"""
