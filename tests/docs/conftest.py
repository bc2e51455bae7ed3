"""Modules that the guides say to save."""

from types import ModuleType

import pytest

from tests.docs.examples import saved_module

_PAGE = "docs/guides/own-pipeline.md"


@pytest.fixture(scope="session")
def sinks(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The sinks of the guide to pipelines of one's own."""
    return saved_module(_PAGE, "sinks.py", tmp_path_factory.mktemp("guide"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The sources of the guide to pipelines of one's own."""
    return saved_module(_PAGE, "sources.py", tmp_path_factory.mktemp("guide"))
