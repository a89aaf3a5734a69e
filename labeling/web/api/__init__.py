"""The campaign domain over HTTP: fetch through access.py, call one action, render.

base.py has what every action shares; the others are named after what they serve. Addresses:
annotator/api_urls.py.
"""
