"""Guaranteed channels between programs, over a local `laxity serve`.

    import laxity
    node = laxity.Node()
    camera = node.open("film", size=1000, interval=0.010, deadline=0.005)
    camera.send(frame)

A message is delivered in order and whole, or not at all, within the deadline from its logical
arrival. A contract that does not fit raises `Refused`, which says what would.
"""

import asyncio

from ._laxity import Channel, Error, Excess, Lost, Message, Node, Queue, Refused

__all__ = ["Channel", "Error", "Excess", "Lost", "Message", "Node", "Queue", "Refused", "receive"]


async def receive(queue):
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
            # The end of the daemon rings no bell: look now and then.
            await asyncio.wait([rung], timeout=0.1)
        finally:
            loop.remove_reader(queue.fileno())
            queue.silence()
