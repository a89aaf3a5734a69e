"""Tables, figures and findings of a study, in the paper's layout. Pure; no torch."""
