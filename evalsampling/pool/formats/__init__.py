"""The formats a pool may have, one module each."""
