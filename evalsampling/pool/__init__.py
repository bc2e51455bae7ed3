"""The rows of a pool: files, formats, checked columns."""

from evalsampling.pool.batch import PoolBatch as PoolBatch
