"""Response rows and request bodies by resource. Types are checked here, meanings in the domain."""
