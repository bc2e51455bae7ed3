"""Moved: see pool.catalog."""

from evalsampling.pool.catalog import Catalog as Catalog
