"""Completion of commands and options, by the shells themselves where they are there."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.jobs import call


def test_all_commands_and_their_options_are_known() -> None:
    script = call("completion", "bash").out
    assert "estimate) known='" in script
    assert "--labels" in script
    assert "completion" in script
    fish = call("completion", "fish").out
    assert "complete -c evalsampling -n '__fish_seen_subcommand_from sample' -l size" in fish
    assert call("completion", "zsh").out.startswith("autoload -U +X bashcompinit")
    assert call("completion", "tcsh").status == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evalsampling", "est"], ["estimate"]),
        (["evalsampling", "estimate", "run", "--lab"], ["--labels"]),
        (["evalsampling", "plan", "spec.yaml", "--half"], ["--half-width"]),
        (["evalsampling", "estimate", "ru"], []),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], expected: list[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    (tmp_path / "script").write_text(call("completion", "bash").out)
    listed = " ".join(f"'{word}'" for word in words)
    program = (
        f"source {tmp_path}/script; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; "
        '_evalsampling; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected
