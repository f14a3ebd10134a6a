"""What admission, runs and attacks say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Sequence

from . import _laxity


class Rows:
    """Rows that pandas, Polars and PyArrow take over without a copy.

    Anything that reads the Arrow PyCapsule interface takes the object itself, such as
    `polars.DataFrame(rows)` or `pyarrow.table(rows)`.
    """

    def _rows(self) -> _laxity.Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._rows().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._rows())

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._rows().columns

    def to_arrow(self) -> Any:
        """The rows as a `pyarrow.Table`."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame` with columns of Arrow, so that a null stays a null."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self)


@dataclass(frozen=True)
class Verdict:
    """A claim, judged."""

    id: str
    says: str
    #: `holds`, `holds_within`, `contradicted` or `not_judged`.
    verdict: str
    #: The figures that it rests on, in words.
    figure: str
    #: The range in which it holds, or why it is not judged; empty otherwise.
    detail: str

    @property
    def holds(self) -> bool:
        """Whether it holds, if only within a range."""
        return self.verdict in ("holds", "holds_within")


class Results(Rows):
    """The results of a run: a row for each point of the sweep and each channel.

    Columns are those of `results.parquet`, in seconds, bytes and bytes per second.
    """

    def __init__(self, inner: _laxity.Results):
        self._inner = inner
        self._table: Optional[_laxity.Table] = None

    def _rows(self) -> _laxity.Table:
        if self._table is None:
            self._table = self._inner.table()
        return self._table

    @property
    def standing(self) -> str:
        """`holds`, `not judged`, `fails` or `bad claim`: what the exit code of `laxity run` says."""
        return self._inner.standing()

    @property
    def holds(self) -> bool:
        """Whether every claim holds and no guarantee was broken."""
        return self.standing == "holds"

    @property
    def verdicts(self) -> list[Verdict]:
        """A verdict for each claim."""
        known = json.loads(self._inner.verdicts())
        return [
            Verdict(v["id"], v["says"], v["verdict"], v["figure"], v.get("range") or v.get("because") or "")
            for v in known
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it, as in `results.json`: also stages, resources and distributions."""
        return json.loads(self._inner.json())

    def to_json(self) -> str:
        """The text of `results.json`."""
        return self._inner.json()

    def figures(
        self, y: Optional[str] = None, x: Optional[str] = None, channels: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """The figures of the report as data; with `y` the figure of that metric over the axis `x`."""
        return json.loads(self._inner.figures(y, x, list(channels)))

    def plot(self, y: Optional[str] = None, x: Optional[str] = None, channels: Sequence[str] = ()) -> Any:
        """Draws the figures of the report with matplotlib, each bound beside what was measured.

        Without arguments a list of all figures. With `y`, a metric such as `worst` or `latency.p99`,
        one figure over the axis `x`; without `x` a bar for each channel.
        """
        from ._plot import draw

        drawn = [draw(figure) for figure in self.figures(y, x, channels)]
        return drawn if y is None else drawn[0]

    def __str__(self) -> str:
        return self._inner.text()

    def __repr__(self) -> str:
        return f"<laxity.Results: {len(self)} rows, {self.standing}>"


class Admission(Rows):
    """Admission's answer to each channel that asks for a bound, at each point. Times in seconds."""

    COLUMNS = {
        "point": str,
        "channel": str,
        "verdict": str,
        "asked": float,
        "bound": float,
        "margin": float,
        "station": str,
        "reason": str,
    }

    def __init__(self, answers: list[dict[str, Any]]):
        #: The answers with every hop and term, as `laxity admit --json` has them.
        self.answers = answers
        self._table: Optional[_laxity.Table] = None
        self.rows = []
        for answer in answers:
            if answer["not_analysed"]:
                self.rows.append({"point": answer["point"], "reason": answer["not_analysed"]})
            for channel in answer["channels"]:
                row = {"point": answer["point"], "channel": channel["name"]}
                self.rows.append(row | {key: channel.get(key) for key in list(self.COLUMNS)[2:]})

    @property
    def admitted(self) -> bool:
        """Whether every channel that asks for a bound has one."""
        asked = [row for row in self.rows if row.get("verdict") != "best effort"]
        return bool(asked) and all(row.get("verdict") == "admitted" for row in asked)

    def bound(self, channel: str, point: str = "") -> Optional[float]:
        """The bound of a channel in seconds, at the first point or the named one."""
        for row in self.rows:
            if row.get("channel") == channel and point in ("", row["point"]):
                return row["bound"]
        raise KeyError(channel)

    def _rows(self) -> _laxity.Table:
        if self._table is None:
            self._table = table(self.COLUMNS, self.rows)
        return self._table

    def __str__(self) -> str:
        def time(seconds: Optional[float]) -> str:
            return "-" if seconds is None else f"{seconds * 1e3:.4f} ms"

        lines = [("", "channel", "", "asked", "bound", "margin", "")]
        for row in self.rows:
            times = [time(row.get(key)) for key in ("asked", "bound", "margin")]
            why = row.get("reason") or ""
            lines.append((row["point"], row.get("channel") or "-", row.get("verdict") or "", *times, why))
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = [
            "  ".join(
                cell.rjust(width) if place in (3, 4, 5) else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths))
                if width
            ).rstrip()
            for line in lines
        ]
        return "\n".join(text)

    def __repr__(self) -> str:
        return f"<laxity.Admission: {len(self.rows)} answers, admitted: {self.admitted}>"


class Attack(Rows):
    """The worst case of each channel that a search has found, beside its bound. Times in seconds."""

    COLUMNS = {
        "point": str,
        "channel": str,
        "bound": float,
        "worst": float,
        "share": float,
        "plain": float,
        "not_attacked": str,
    }

    def __init__(self, found: list[dict[str, Any]]):
        #: A dictionary for each channel.
        self.rows = found
        self._table: Optional[_laxity.Table] = None

    @property
    def exceeds(self) -> bool:
        """Whether a bound was exceeded, which is an error of Laxity's."""
        return any(row.get("exceeds") for row in self.rows)

    def _rows(self) -> _laxity.Table:
        if self._table is None:
            self._table = table(self.COLUMNS, self.rows)
        return self._table

    def __repr__(self) -> str:
        return f"<laxity.Attack: {len(self.rows)} findings, bounds exceeded: {self.exceeds}>"


def table(columns: dict[str, type], rows: list[dict[str, Any]]) -> _laxity.Table:
    """A table of texts and doubles."""
    texts = [(name, [row.get(name) for row in rows]) for name, kind in columns.items() if kind is str]
    doubles = [(name, [row.get(name) for row in rows]) for name, kind in columns.items() if kind is float]
    return _laxity.Table(list(columns), texts, doubles)
