"""Networks: opened from files, by name or by import path, and what images they are given."""
