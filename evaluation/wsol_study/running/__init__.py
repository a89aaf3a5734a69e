"""Running a study: configuration, data, training, trials as tasks, the protocol of the choice."""
