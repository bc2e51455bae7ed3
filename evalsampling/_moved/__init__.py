"""What docs/python.md showed under other names, which still import."""
