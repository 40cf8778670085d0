"""``mercer completion``: shell completion scripts."""

from __future__ import annotations

from typing import Literal

__all__ = ["completion"]


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print a script that completes mercer's commands and options in a shell.

    For example:

    - `mercer completion bash > ~/.local/share/bash-completion/completions/mercer`
    - `mercer completion zsh > ~/.zfunc/_mercer` (with ~/.zfunc in fpath)
    - `mercer completion fish > ~/.config/fish/completions/mercer.fish`

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from mercer.cli.app import app

    print(app.generate_completion(shell=shell))
    return 0
