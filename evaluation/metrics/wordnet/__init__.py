"""WordNet's nouns: distances, similarities, glosses, embeddings."""
