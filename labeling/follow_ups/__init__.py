"""Opening, withdrawing and reopening questions, by researchers or after settlements."""
