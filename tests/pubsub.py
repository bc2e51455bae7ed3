"""A server that speaks as Pub/Sub does, of topics and subscriptions in memory."""

import collections
import contextlib
import dataclasses
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf import empty_pb2
from google.pubsub_v1 import types

from tests.servers import serving_grpc

EMULATOR = "PUBSUB_EMULATOR_HOST"
"""Variable by which Google's clients find a server in place of Google's."""

PROJECT = "a-project"


def topic_path(name: str) -> str:
    """Return the full name of a topic."""
    return f"projects/{PROJECT}/topics/{name}"


def subscription_path(name: str) -> str:
    """Return the full name of a subscription."""
    return f"projects/{PROJECT}/subscriptions/{name}"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """An error in answer to a request to publish, whose messages may be taken nevertheless."""

    code: grpc.StatusCode
    taken: bool = False


class Subscription:
    """Messages of a topic that nobody has acknowledged: waiting, or pulled."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.waiting: collections.deque[types.PubsubMessage] = collections.deque()
        self.pulled: dict[str, types.PubsubMessage] = {}

    def pull(self, most: int) -> list[types.ReceivedMessage]:
        """Return some messages, to be acknowledged by their ids."""
        received = []
        while self.waiting and len(received) < most:
            message = self.waiting.popleft()
            self.pulled[message.message_id] = message
            received.append(types.ReceivedMessage(ack_id=message.message_id, message=message))
        return received


@dataclasses.dataclass
class FakePubSub:
    """The server: messages of topics in order, and subscriptions, by their full names.

    Refusals are by the number of the request to publish, from 0; requests are told by their
    numbers of messages. So many acknowledgements as are `lost` make their messages come again.
    """

    topics: dict[str, list[types.PubsubMessage]] = dataclasses.field(default_factory=dict)
    subscriptions: dict[str, Subscription] = dataclasses.field(default_factory=dict)
    refusals: dict[int, Refusal] = dataclasses.field(default_factory=dict)
    requests: list[int] = dataclasses.field(default_factory=list)
    lost: int = 0
    delivered: int = 0

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self._came = threading.Condition()

    def create(self, topic: str) -> str:
        """Make a topic and a subscription of the same name; return the topic's full name."""
        self.topics[topic_path(topic)] = []
        self.subscriptions[subscription_path(topic)] = Subscription(topic_path(topic))
        return topic_path(topic)

    def data(self, topic: str) -> list[bytes]:
        """Return what the messages of a topic hold."""
        return [message.data for message in self.topics[topic_path(topic)]]

    def publish(self, request: types.PublishRequest, context: Any) -> types.PublishResponse:
        """Answer Publish."""
        with self._came:
            refusal = self.refusals.get(len(self.requests))
            self.requests.append(len(request.messages))
            if request.topic not in self.topics:
                context.abort(grpc.StatusCode.NOT_FOUND, f"Resource not found: {request.topic}")
            ids = []
            if refusal is None or refusal.taken:
                ids = [self._take(request.topic, message) for message in request.messages]
            self._came.notify_all()
        if refusal:
            context.abort(refusal.code, f"refused, {refusal.taken = }")
        return types.PublishResponse(message_ids=ids)

    def _take(self, topic: str, message: types.PubsubMessage) -> str:
        message.message_id = str(next(self._ids))
        message.publish_time = {"seconds": 1_800_000_000}
        self.topics[topic].append(message)
        for subscription in self.subscriptions.values():
            if subscription.topic == topic:
                subscription.waiting.append(message)
        return str(message.message_id)

    def pull(self, request: types.PullRequest, context: Any) -> types.PullResponse:
        """Answer Pull, at once if there is a message."""
        with self._came:
            asked = self._subscription(request.subscription, context)
            self._came.wait_for(lambda: bool(asked.waiting), timeout=0.1)
            received = asked.pull(request.max_messages)
            self.delivered += len(received)
        return types.PullResponse(received_messages=received)

    def acknowledge(self, request: types.AcknowledgeRequest, context: Any) -> Any:
        """Answer Acknowledge."""
        with self._came:
            asked = self._subscription(request.subscription, context)
            messages = [asked.pulled.pop(name) for name in request.ack_ids]
            if self.lost:
                self.lost -= 1
                asked.waiting.extend(messages)
        return empty_pb2.Empty()

    def _subscription(self, name: str, context: Any) -> Subscription:
        if name not in self.subscriptions:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Resource not found: {name}")
        return self.subscriptions[name]

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """Return what answers calls."""
        publisher = {
            "Publish": grpc.unary_unary_rpc_method_handler(
                self.publish,
                request_deserializer=types.PublishRequest.deserialize,
                response_serializer=types.PublishResponse.serialize,
            )
        }
        subscriber = {
            "Pull": grpc.unary_unary_rpc_method_handler(
                self.pull,
                request_deserializer=types.PullRequest.deserialize,
                response_serializer=types.PullResponse.serialize,
            ),
            "Acknowledge": grpc.unary_unary_rpc_method_handler(
                self.acknowledge,
                request_deserializer=types.AcknowledgeRequest.deserialize,
                response_serializer=empty_pb2.Empty.SerializeToString,
            ),
        }
        return (
            grpc.method_handlers_generic_handler("google.pubsub.v1.Publisher", publisher),
            grpc.method_handlers_generic_handler("google.pubsub.v1.Subscriber", subscriber),
        )


@contextlib.contextmanager
def serving() -> Iterator[FakePubSub]:
    """Serve, to this process and those that it starts."""
    fake = FakePubSub()
    with serving_grpc(EMULATOR, *fake.handlers()):
        yield fake
