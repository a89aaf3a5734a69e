"""Score maps of many images by a network, as a folder of arrays; can be resumed."""
