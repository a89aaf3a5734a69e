"""The API of campaigns: actions fetch through access.py, call one domain function and render.

base.py has what all actions share; the other modules are named after their resource. URLs:
annotator/api_urls.py.
"""
