"""The rows of a pool: files, formats, checked columns."""
