"""Messages of the service in an event loop."""

from __future__ import annotations

import asyncio

from ._laxity import Message, Queue


async def receive(queue: Queue) -> Message:
    """The next message of a queue, without blocking the event loop."""
    loop = asyncio.get_running_loop()
    while True:
        message = queue.try_recv()
        if message is not None:
            return message
        if not queue.arm():
            continue
        rung = loop.create_future()
        loop.add_reader(queue.fileno(), lambda: rung.done() or rung.set_result(None))
        try:
            # The end of the daemon rings no bell, so the queue is polled now and then.
            await asyncio.wait([rung], timeout=0.1)
        finally:
            loop.remove_reader(queue.fileno())
            queue.silence()
