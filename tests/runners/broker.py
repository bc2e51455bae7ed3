"""A broker of Kafka, and what its own clients send and get."""

import contextlib
import dataclasses
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.runners.portable import CACHE, SHORT_LIVED, free_port, missing_program, running

_PROGRAM = CACHE / "kafka" / "broker.jar"
_LOGGING = Path(__file__).parent / "kafka" / "log4j.properties"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=CLIENTS://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=CLIENTS://localhost:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENTS
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
"""


@dataclasses.dataclass(frozen=True)
class Broker:
    """A broker that runs; a topic begins with its first message and has one partition.

    Attributes:
        address: host and port.
    """

    address: str

    def send(self, topic: str, messages: Sequence[str]) -> None:
        """Send messages without keys."""
        self._client("kafka.tools.ConsoleProducer", topic, text="\n".join(messages) + "\n")

    def messages(self, topic: str) -> list[str]:
        """Return all messages of a topic."""
        end = self._client("org.apache.kafka.tools.GetOffsetShell", topic)
        name, partition, count = end.strip().split(":")
        assert (name, partition) == (topic, "0")
        whole = ["--partition", "0", "--offset", "earliest", "--max-messages", count]
        consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        return self._client(consumer, topic, *whole).splitlines()

    def _client(self, program: str, topic: str, *options: str, text: str = "") -> str:
        command = _java(program, "--bootstrap-server", self.address, "--topic", topic, *options)
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def started_broker(directory: Path) -> Iterator[Broker]:
    """Start a broker that keeps its topics in a directory, and stop it in the end."""
    missing = missing_program(_PROGRAM, "tests/runners/kafka/broker")
    if missing:
        pytest.skip(missing)
    port, settings = free_port(), directory / "server.properties"
    values = {"port": port, "controller": free_port(), "logs": directory / "topics"}
    settings.write_text(_SETTINGS.format(**values))
    form = ["format", "--cluster-id", "ZXZhbHNhbXBsaW5nLXRlcw", "--config", str(settings)]
    subprocess.run(_java("kafka.tools.StorageTool", *form), check=True, capture_output=True)
    with running(_java("kafka.Kafka", str(settings)), port, directory / "broker.log"):
        yield Broker(f"localhost:{port}")


def _java(program: str, *arguments: str) -> list[str]:
    """Return the command of a program of Kafka."""
    logging = f"-Dlog4j.configuration=file:{_LOGGING}"
    return ["java", *SHORT_LIVED, logging, "-cp", str(_PROGRAM), program, *arguments]
