"""MAD: selecting the images on which two classifiers disagree most, and ranking from people's
answers.
"""
