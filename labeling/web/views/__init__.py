"""The pages on which researchers make and watch campaigns, a file for each group of them."""
