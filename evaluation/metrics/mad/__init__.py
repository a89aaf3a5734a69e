"""MAD: selects the images on which two classifiers differ most, and ranks from people's answers."""
