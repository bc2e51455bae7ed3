"""The command line: parses, calls, prints."""

from evalsampling.cli.main import main as main
