"""Reviews of mistakes: the queue, label sets from its answers, rates and scores. No Django."""
