"""Answers submitted, drafts kept, and how long an answer may be revised.

What answers settle is consensus/."""
