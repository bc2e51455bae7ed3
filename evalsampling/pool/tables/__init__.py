"""Tables of files as pools: one module a kind, found by its key of ``pool.table``."""
