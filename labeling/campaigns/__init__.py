"""The life cycle of campaigns, their topics and policy; who may do what, who sees which name."""
