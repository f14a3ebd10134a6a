"""The package against two daemons over loopback."""

import asyncio
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import laxity
from common import LAXITY

NODE = """
name = "{name}"
id = {id}
socket = "{name}.sock"
state = "state"
security = "none"
[host]
priority = 0
[[link]]
peer = "{peer}"
peer_id = {peer_id}
local = "127.90.0.{id}:4700"
remote = "127.90.0.{peer_id}:4700"
rate = "80 Mbit/s"
"""


def until(attempt):
    for _ in range(200):
        try:
            return attempt()
        except (laxity.Error, OSError):
            time.sleep(0.05)
    return attempt()


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        os.chdir(cls.directory.name)
        cls.daemons = []
        for name, number, peer, peer_number in [("a", 1, "b", 2), ("b", 2, "a", 1)]:
            with open(name + ".toml", "w") as file:
                file.write(NODE.format(name=name, id=number, peer=peer, peer_id=peer_number))
            cls.daemons.append(subprocess.Popen([LAXITY, "serve", name + ".toml"], stderr=subprocess.DEVNULL))
        cls.a, cls.b = until(lambda: laxity.Node("a.sock")), until(lambda: laxity.Node("b.sock"))

    @classmethod
    def tearDownClass(cls):
        for daemon in cls.daemons:
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(20) == 0
        os.chdir("/")
        cls.directory.cleanup()

    def test_messages_arrive_in_order(self):
        queue = self.b.listen("film")
        channel = until(lambda: self.a.open("film", size=1000, interval=0.005, deadline=0.050))
        self.assertEqual(channel.route, ["a", "b"])
        for number in range(20):
            channel.send(bytes([number]) * 1000)
        for number in range(20):
            message = queue.recv(20)
            self.assertEqual((message.payload[0], len(message.payload)), (number, 1000))
            self.assertEqual(message.channel, channel.name)
            self.assertGreater(message.delay, 0)
        channel.close()
        with self.assertRaises(laxity.Lost):
            channel.send(b"x")
        self.assertIsNone(queue.recv(0.01))
        queue.close()

    def test_a_refusal_says_what_would_do(self):
        queue = self.b.listen("other")
        until(lambda: self.a.datagram("other", b"hello"))
        self.assertEqual(queue.recv(20).payload, b"hello")
        with self.assertRaisesRegex(laxity.Refused, "up to that node, a deadline of .* us would do"):
            self.a.open("other", size=1000, interval=0.010, deadline=0.0001)
        with self.assertRaises(laxity.Error):
            self.a.open("other", size=1000, interval=-1, deadline=1)
        queue.close()

    def test_an_event_loop_is_not_blocked(self):
        queue = self.b.listen("loop")
        channel = until(lambda: self.a.open("loop", size=10, interval=0.010, deadline=0.050))

        async def run():
            waiting = asyncio.ensure_future(laxity.receive(queue))
            await asyncio.sleep(0.05)
            self.assertFalse(waiting.done())
            channel.send(b"now")
            self.assertEqual((await asyncio.wait_for(waiting, 20)).payload, b"now")

        asyncio.run(run())

    def test_threads_take_turns_on_a_channel_and_a_queue(self):
        queue = self.b.listen("shared")
        channel = until(lambda: self.a.open("shared", size=100, interval=0.002, deadline=0.050))
        received, errors = [], []

        def attempt(what):
            try:
                what()
            except Exception as error:  # any of a thread is one of the test
                errors.append(error)

        def send(thread):
            for number in range(25):
                channel.send(bytes([thread, number]))

        def receive():
            while len(received) < 100:
                message = queue.recv(0.2)
                if message is not None:
                    received.append(message.payload)

        work = [lambda thread=thread: send(thread) for thread in range(4)] + [receive, receive]
        threads = [threading.Thread(target=attempt, args=(what,)) for what in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(errors, [])
        self.assertEqual(sorted(received), sorted(bytes([a, b]) for a in range(4) for b in range(25)))
        channel.close()
        queue.close()

    def test_a_child_of_fork_leaves_the_channels_of_its_parent_alone(self):
        queue = self.b.listen("family")
        channel = until(lambda: self.a.open("family", size=100, interval=0.002, deadline=0.050))
        channel.send(b"before")
        child = os.fork()
        if child == 0:
            raised = 0
            for attempt in [
                lambda: channel.send(b"child"),
                lambda: queue.recv(1),
                lambda: self.a.open("family", size=100, interval=0.1, deadline=0.1),
                channel.close,
                queue.close,
            ]:
                try:
                    attempt()
                except laxity.Error as error:
                    raised += "connect again" in str(error)
            os._exit(raised)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 5)
        channel.send(b"after")
        self.assertEqual([queue.recv(20).payload for _ in range(2)], [b"before", b"after"])
        channel.close()
        queue.close()


if __name__ == "__main__":
    unittest.main()
