"""What the API sends and takes, by resource. Types are checked here, meanings by the actions."""
