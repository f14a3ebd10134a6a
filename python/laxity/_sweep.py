"""Sweeps on this machine or on a cluster."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

from ._progress import Progress, shown
from ._results import Results
from ._scenario import Axis, Scenario, checked

#: Tasks for each thread of a cluster: enough that none is idle at the end, and few to schedule.
TASKS_A_THREAD = 8


def sweep(
    scenario: Union[Scenario, str, os.PathLike[str]],
    axes: Optional[Mapping[str, Axis]] = None,
    *,
    client: Any = None,
    progress: Progress = None,
    out: Union[str, os.PathLike[str], None] = None,
) -> Results:
    """Runs `scenario` at every combination of the values of `axes`, beside its own sweep.

    Axes are as in `Scenario.swept`. With a `client` of `dask.distributed`, its workers run the
    points; they need this package and no file. The rows are those of `laxity run` on a file with
    the same sweep, however many workers there are. A worker that is lost loses no point: Dask runs
    its points again elsewhere, and a point gives the same run wherever it runs.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    if axes:
        scenario = scenario.swept(axes)
    if client is None:
        return scenario.run(progress=progress, out=out)
    from dask.distributed import as_completed

    total = len(scenario.points)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads = max(1, sum(worker["nthreads"] for worker in workers))
    size = max(1, total // (threads * TASKS_A_THREAD))
    parts = [range(first, min(first + size, total)) for first in range(0, total, size)]
    # The result of a task, which travels once to each worker, and which Dask makes again if every
    # worker that has it is lost.
    shared = client.submit(same, scenario, pure=False)
    futures = client.map(run_points, parts, scenario=shared, pure=False)
    places = {future.key: place for place, future in enumerate(futures)}
    runs: list[list[bytes]] = [[] for _ in parts]
    try:
        with shown(progress, scenario.name) as callback:
            done = 0
            for future, part in as_completed(futures, with_results=True):
                runs[places[future.key]] = part
                done += len(part)
                if callback is not None:
                    callback(done, total, "")
    except BaseException:
        client.cancel([shared, *futures])
        raise
    whole = [run for part in runs for run in part]
    return checked(scenario._inner.collect(whole, None if out is None else os.fspath(out)))


def same(scenario: Scenario) -> Scenario:
    """The scenario, as a task of a worker."""
    return scenario


def run_points(part: range, scenario: Scenario) -> list[bytes]:
    """Runs some points, as a task of a worker."""
    return [scenario._inner.run_point(number) for number in part]
