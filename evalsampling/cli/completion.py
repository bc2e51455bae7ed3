"""`evalsampling completion`: what a shell needs to complete commands and options."""

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
        shell: it is for.
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
    """Return a script that completes commands, their options, and else names of files.

    Args:
        shell: one of `SHELLS`.
        options: of each command.
    """
    names = " ".join(options)
    if shell == "fish":
        first = f"complete -c evalsampling -n __fish_use_subcommand -f -a '{names}'"
        return "\n".join(
            [
                first,
                *(
                    f"complete -c evalsampling -n '__fish_seen_subcommand_from {command}' "
                    f"-l {option.removeprefix('--')}"
                    for command, known in options.items()
                    for option in known
                ),
            ]
        )
    cases = [f"    {command}) known='{' '.join(known)}' ;;" for command, known in options.items()]
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
