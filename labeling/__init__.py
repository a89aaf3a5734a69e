"""The campaign domain: campaigns, questions, answers, consensus, quality and releases.

The packages have an order; each imports only from earlier ones: the modules without a package
(errors, files, …), models, db, jobs, estimators, geometry, vocabulary, parts, formats,
near_duplicates, boxes, promptable, question_graph, kinds, release_files, publishing, simulation,
campaigns, graphs, datasets, assignment, consensus, assistance, answers, follow_ups, quality,
releases, exchange, removal, reports, web. tests/test_architecture.py checks it.
"""
