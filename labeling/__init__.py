"""The campaign domain: campaigns, questions, answers, consensus, quality and releases.

Packages in one order; each imports only from those above it: errors, files, plurals,
strict_yaml, image_files, records and numba_cache (no package), models, db, jobs, estimators,
geometry, vocabulary, parts, formats, question_graph, kinds, release_files, simulation, campaigns,
graphs, datasets, assignment, consensus, answers, follow_ups, quality, releases, exchange, reports,
web.
tests/test_architecture.py holds it.
"""
