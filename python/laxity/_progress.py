"""Progress of long calls."""

from __future__ import annotations

import sys
import time
from typing import Callable, Optional, Union

#: Called with what is done, with all there is to do, and with a few words.
Callback = Callable[[int, int, str], None]

#: `None` for a line in terminals, `False` for none, or a function.
Progress = Union[Callback, bool, None]


class Line:
    """A line on standard error that is written over, and gone at the end."""

    def __init__(self, title: str):
        self.title = title
        self.width = 0
        self.begun = time.monotonic()

    def __call__(self, done: int, total: int, words: str) -> None:
        # A call that is over at once needs no line.
        if time.monotonic() - self.begun < 0.5:
            return
        parts = [f"{self.title}: {done} of {total}", words]
        text = ", ".join(part for part in parts if part)[:78]
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


class shown:
    """The callback for a call, within which a line may be on the terminal."""

    def __init__(self, progress: Progress, title: str):
        self.line: Optional[Line] = None
        self.callback: Optional[Callback] = None
        if callable(progress):
            self.callback = progress
        elif progress is True or (progress is None and sys.stderr.isatty()):
            self.line = Line(title)
            self.callback = self.line

    def __enter__(self) -> Optional[Callback]:
        return self.callback

    def __exit__(self, *_: object) -> None:
        if self.line is not None:
            self.line.close()
