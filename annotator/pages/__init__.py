"""What a person sees while labeling, and the same for programs."""
