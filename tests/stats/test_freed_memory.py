"""Freed memory is kept: large arrays are made again without new pages from the system."""

import platform
import subprocess
import sys

import pytest

_SCRIPT = """
import resource
import numpy as np
from evalsampling.stats.hamiltonian import keep_freed_memory

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(1 << 17) for _ in range(8)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
new_pages()
print(new_pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_pages_of_freed_arrays_are_used_again() -> None:
    """Twenty times 8 MB, which are 40,000 pages of 4 kB, need next to none."""
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True
    )
    assert int(ran.stdout) < 400
