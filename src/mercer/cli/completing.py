"""``mercer completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import Literal

__all__ = ["completion"]


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the script with which a shell completes mercer's commands and options.

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
