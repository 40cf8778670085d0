"""Build step of wheels: compile src/mercer/utils/compiled if there is a C compiler.

Without one, or with ``MERCER_COMPILED=0``, the wheel is pure Python and works on every platform.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

FOLDER = Path("src", "mercer", "utils", "compiled")
FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden")


class CompileLoops(BuildHookInterface[Any]):
    """Compile the library and add it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, also for editable installations."""
        library = FOLDER / ("_loops.dll" if sys.platform == "win32" else "_loops.so")
        if not compiled(Path(self.root), library):
            return
        build_data["artifacts"].append(f"/{library.as_posix()}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"


def compiled(root: Path, library: Path) -> bool:
    """Compile the library; return whether this was possible.

    An older library, which an editable installation may be using, is replaced, or removed on
    failure.
    """
    if os.environ.get("MERCER_COMPILED") == "0":
        return False
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    new, sources = library.with_suffix(".new"), sorted((root / FOLDER).glob("*.c"))
    files = [str(source.relative_to(root)) for source in sources]
    command = [*compiler, *FLAGS, "-o", str(new), *files, "-lm"]
    try:
        subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or error
        print(f"mercer is built without compiled code: {reason}", file=sys.stderr)
        (root / library).unlink(missing_ok=True)
        return False
    (root / new).replace(root / library)
    return True
