"""Runs the command line: ``python -m evalsampling``."""

from evalsampling.cli.main import main

main()
