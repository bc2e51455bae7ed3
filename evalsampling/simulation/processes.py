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
    """Return ``run(sampler=..., repeat=...)`` for every sampler and repeat, run in processes.

    Returns:
        For each sampler a list of the results by repeat.
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
            # Results of running repeats are not needed, and one may take a minute.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return [[job.result() for job in sampler_jobs] for sampler_jobs in jobs]


def _begin() -> None:
    """Prepare a worker process, of which there is one for each core.

    Ctrl-C reaches all processes of a terminal and is left to the parent. Linear algebra uses one
    thread: several for each core would wait for each other.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
