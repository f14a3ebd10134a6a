"""Scenarios."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from . import _laxity
from ._progress import Progress, shown
from ._results import Admission, Attack, Results

#: A value of a key: a text with its unit, a number, a truth value, a list or a table.
Value = Union[str, int, float, bool, Sequence[Any], Mapping[str, Any]]

#: Values of one axis, or the keys of its `[[sweep]]`.
Axis = Union[Sequence[Value], Mapping[str, Any]]


class Scenario:
    """A scenario, valid throughout. It never changes: `with_` and `swept` make another."""

    def __init__(self, inner: _laxity.Scenario):
        self._inner = inner

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Scenario:
        """Reads the file at `path` and all files that it names.

        A description of an adapter is put into a scenario that tries it, as `laxity run` does.
        Raises `ScenarioError` with the place of each error.
        """
        return cls(_laxity.Scenario(os.fspath(path)))

    @classmethod
    def parse(cls, text: str, name: str = "scenario.toml") -> Scenario:
        """Reads `text` as if it stood in a file called `name`; names in it start at its folder."""
        return cls(_laxity.Scenario(name, {name: text.encode()}))

    def with_(self, changes: Mapping[str, Value]) -> Scenario:
        """The scenario with other values: `with_({"channel.camera.deadline": "5 ms"})`.

        Keys are those that a sweep can set; `laxity explain KEY` says what each takes.
        """
        return Scenario(self._inner.changed(list(changes.items())))

    def swept(self, axes: Mapping[str, Axis]) -> Scenario:
        """The scenario with further axes of its sweep, the last of which varies fastest.

        An axis is a key and its values, `{"host.speedup": [1.0, 2.0]}`, and is called by the last
        part of the key. Or it is a name and the keys of a `[[sweep]]`:
        `{"speed": {"keys": ["host.speedup"], "values": [1.0, 2.0]}}`.
        """
        taken = {name for name, _ in self._inner.axes}
        tables = []
        for name, axis in axes.items():
            if isinstance(axis, Mapping):
                tables.append({"name": name, **axis})
                continue
            short = name.rsplit(".", 1)[-1]
            if short in taken or not short.replace("-", "").replace("_", "").isalnum():
                short = name.replace(".", "-").replace("*", "all")
            taken.add(short)
            tables.append({"name": short, "key": name, "values": list(axis)})
        return Scenario(self._inner.swept(tables))

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._inner.name

    @property
    def title(self) -> str:
        """Subject of the scenario, in one line."""
        return self._inner.title

    @property
    def about(self) -> str:
        """Origin and set-up."""
        return self._inner.about

    @property
    def seed(self) -> int:
        """Root of every random stream."""
        return self._inner.seed

    @property
    def hash(self) -> str:
        """SHA-256 of the scenario, its changes and every file that it names."""
        return self._inner.hash

    @property
    def axes(self) -> dict[str, list[str]]:
        """The values of each axis of the sweep as texts, outermost first."""
        return dict(self._inner.axes)

    @property
    def points(self) -> list[str]:
        """The points of the sweep in words, in the order in which they run."""
        return self._inner.points

    @property
    def channels(self) -> list[str]:
        """Names of the channels at the first point."""
        return self._inner.channels

    @property
    def text(self) -> str:
        """The text of the file, without what `with_` and `swept` laid over it."""
        return self._inner.text

    def admit(self, point: Optional[int] = None) -> Admission:
        """The delay bound of each channel, or why there is none. Runs no simulation."""
        return Admission(json.loads(self._inner.admit(point)))

    def run(
        self,
        *,
        progress: Progress = None,
        threads: Optional[int] = None,
        seed: Optional[int] = None,
        out: Union[str, os.PathLike[str], None] = None,
        fresh: bool = False,
    ) -> Results:
        """Runs every point in virtual time and judges the claims.

        The rows are those of `laxity run`, whatever the number of threads. With `out` the directory
        of results is written, and finished points are kept there for another run of this build.
        """
        with shown(progress, self.name) as callback:
            out = None if out is None else os.fspath(out)
            results = self._inner.run(callback, threads, seed, out, fresh, build())
        return checked(results)

    def attack(
        self,
        *,
        steps: int = 4000,
        seconds: Optional[float] = None,
        seed: int = 1,
        channel: Optional[str] = None,
        point: Optional[int] = None,
        threads: Optional[int] = None,
        progress: Progress = None,
    ) -> Attack:
        """Searches traffic within the contracts that brings each channel close to its bound.

        About `steps` runs for each channel; with `seconds`, what was found by then.
        """
        with shown(progress, f"attack on {self.name}") as callback:
            found = self._inner.attack(callback, steps, seconds, seed, channel, point, threads)
        return Attack(json.loads(found))

    def fix(
        self, point: int = 0, *, threads: Optional[int] = None, progress: Progress = None
    ) -> Fixes:
        """Searches the least change of one thing, or of two, with which every channel is admitted."""
        with shown(progress, f"changes of {self.name}") as callback:
            found = json.loads(self._inner.fix(callback, point, threads))
        fixes = [Fix.of(self, fix) for fix in found["fixes"]]
        nearest = found["nearest"]
        return Fixes(found["lacking"], fixes, None if nearest is None else Fix.of(self, nearest["fix"]))

    def __getstate__(self) -> tuple[Any, ...]:
        return self._inner.parts()

    def __setstate__(self, parts: tuple[Any, ...]) -> None:
        self._inner = _laxity.Scenario(*parts)

    def __repr__(self) -> str:
        return f"<laxity.Scenario {self.name!r}: {self.title}; {len(self.points)} points>"


@dataclass(frozen=True)
class Fix:
    """A change with which every channel is admitted."""

    #: What is changed, in words.
    what: str
    #: Each key and its new value, as it stands in a file.
    changes: dict[str, str]
    #: The size of the change; 1 for a setting.
    factor: float
    _of: Scenario

    @classmethod
    def of(cls, scenario: Scenario, fix: dict[str, Any]) -> Fix:
        things = fix["things"]
        what = " and ".join(f"{thing['what']}: {thing['now']} to {thing['then']}" for thing in things)
        changes = {key: value for thing in things for key, value in thing["changes"]}
        return cls(what, changes, fix["factor"], scenario)

    def apply(self) -> Scenario:
        """The scenario with the change."""
        return Scenario(self._of._inner.changed_as_written(list(self.changes.items())))

    def __repr__(self) -> str:
        return f"<laxity.Fix: {self.what}>"


@dataclass(frozen=True)
class Fixes:
    """Changes that admit every channel, the smallest first."""

    #: Channels that have no bound as the scenario is.
    lacking: int
    #: Changes, each of which is enough.
    fixes: list[Fix]
    #: If none is, the change that leaves the fewest channels without a bound.
    nearest: Optional[Fix]

    def __iter__(self) -> Any:
        return iter(self.fixes)

    def __len__(self) -> int:
        return len(self.fixes)

    def __getitem__(self, index: int) -> Fix:
        return self.fixes[index]


def build() -> str:
    """Distinguishes this build from another of the same version: size and date of the module."""
    stamp = os.stat(_laxity.__file__)
    return f"python {stamp.st_size} {stamp.st_mtime_ns}"


def checked(inner: _laxity.Results) -> Results:
    """The results, if they could be written where that was asked for."""
    unwritten = inner.unwritten()
    if unwritten is not None:
        raise OSError(unwritten)
    return Results(inner)
