"""Servers of gRPC that stand in for services of others."""

import contextlib
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest


@contextlib.contextmanager
def serving(variable: str, *handlers: grpc.GenericRpcHandler) -> Iterator[None]:
    """Serve, to this process and those that it starts.

    Args:
        variable: of the environment, by which clients find the server.
        handlers: what answers calls.
    """
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, f"127.0.0.1:{port}")
        try:
            yield
        finally:
            server.stop(None)
