"""`evalsampling completion`: scripts by which shells complete commands and options."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence

from evalsampling.cli.command import Command
from evalsampling.cli.parser import options_by_command
from evalsampling.commands.result import Result

SHELLS = ("bash", "zsh", "fish")


@dataclasses.dataclass(frozen=True)
class CompletionResult(Result):
    """A script for a shell.

    Attributes:
        shell: one of `SHELLS`.
        script: to be run when the shell starts.
    """

    shell: str
    script: str


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="run what it prints when the shell starts")


def _run(arguments: argparse.Namespace) -> CompletionResult:
    return CompletionResult(arguments.shell, script(arguments.shell, options_by_command()))


def _text(_: argparse.Namespace, result: CompletionResult) -> str:
    return result.script


def script(shell: str, options: Mapping[str, Sequence[str]]) -> str:
    """Return a script that completes commands, their options, and otherwise names of files.

    Args:
        shell: one of `SHELLS`.
        options: the options of each command, by its name.
    """
    names = " ".join(options)
    if shell == "fish":
        lines = [f"complete -c evalsampling -n __fish_use_subcommand -f -a '{names}'"]
        for command, choices in options.items():
            seen = f"complete -c evalsampling -n '__fish_seen_subcommand_from {command}' -l "
            lines += [seen + option.removeprefix("--") for option in choices]
        return "\n".join(lines)
    cases = [
        f"    {command}) known='{' '.join(choices)}' ;;" for command, choices in options.items()
    ]
    lines = [
        *(["autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []),
        "_evalsampling() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" known=""',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    COMPREPLY=($(compgen -W '{names}' -- \"$word\"))",
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]}" in',
        *cases,
        "  esac",
        '  case "$word" in',
        '    -*) COMPREPLY=($(compgen -W "$known" -- "$word")) ;;',
        "    *) COMPREPLY=() ;;",
        "  esac",
        "}",
        "complete -o default -F _evalsampling evalsampling",
    ]
    return "\n".join(lines)


COMMAND = Command(_add_options, _run, _text)
