"""Score maps of many images: a folder of .npy files, as WSOL users have it."""
