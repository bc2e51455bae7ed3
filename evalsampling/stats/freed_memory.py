"""Memory of large arrays, which a process keeps when they are freed."""

import functools

import numpy as np

_LARGEST = 1 << 24
"""Bytes of the block by which the C library learns what is worth keeping: 16 MB."""


@functools.cache
def keep_freed_memory() -> None:
    """Let the process keep up to 32 MB of freed memory for its next arrays.

    The C library of Linux returns it to the system as soon as a few megabytes are free, and each
    round of draws would ask for the same pages again, which takes a tenth of its processor time.
    It keeps twice the largest block that was ever freed, up to a limit (mallopt(3),
    M_MMAP_THRESHOLD), so one is made and freed here, untouched. Elsewhere this has no effect.
    """
    np.empty(_LARGEST, dtype=np.uint8)
