"""Repeats of an evaluation in several processes."""

import concurrent.futures
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from typing import TypeVar

from threadpoolctl import threadpool_limits

from evalsampling.samplers.base import Sampler

Run = TypeVar("Run")


def repeat_all(
    run: Callable[..., Run],
    samplers: Sequence[Sampler],
    repeats: int,
    workers: int | None,
    report: Callable[[int], None],
) -> list[list[Run]]:
    """Call ``run(sampler=..., repeat=...)`` for every sampler and repeat, in processes.

    Returns:
        The results of each sampler, by repeat.
    """
    others = set(multiprocessing.active_children())
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count(), None, _begin) as pool:
        try:
            jobs = [
                [pool.submit(run, sampler=sampler, repeat=repeat) for repeat in range(repeats)]
                for sampler in samplers
            ]
            for _ in concurrent.futures.as_completed(itertools.chain.from_iterable(jobs)):
                report(1)
        except BaseException:
            # Nobody wants what they are at: a repeat may take a minute.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return [[job.result() for job in of_sampler] for of_sampler in jobs]


def _begin() -> None:
    """Prepare a process for repeats, of which there is one for each core.

    Ctrl-C, which reaches all processes of a terminal, is left to the one that started this. Linear
    algebra keeps to one thread: several for each core wait for each other.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
