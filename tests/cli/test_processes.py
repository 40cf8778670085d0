"""Commands as processes: pipes, signals, full disks, and what is left behind."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import EntropyClustering, KernelECA
from mercer.cli import main
from mercer.datasets import make_rings
from mercer.kernels import Gaussian
from tests.cli.running import COMMAND, MODULE, environment, run, start, table

posix = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX systems")
pytestmark = posix


@pytest.fixture
def rings(tmp_path):
    X, _ = make_rings(random_state=0)
    path = tmp_path / "rings.csv"
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    return path


# --- entry points and pipes --------------------------------------------------------------------


def test_the_script_is_the_module(rings):
    arguments = ("embed", rings, "--components", 3)
    by_script, by_module = run(*arguments), run(*arguments, entry=MODULE)
    assert by_script.returncode == by_module.returncode == 0, by_script.stderr
    assert by_script.stdout == by_module.stdout
    assert table(by_script.stdout).shape == (315, 4)


def test_commands_in_a_pipe(rings):
    embed = [*COMMAND, "embed", "-", "--components", "3", "--bandwidth", "0.3", "--out", "-"]
    cluster = [*COMMAND, "cluster", "-", "--clusters", "3", "--bandwidth", "0.5", "--no-scale"]
    with rings.open("rb") as file:
        first = subprocess.Popen(embed, stdin=file, stdout=subprocess.PIPE, env=environment())
        second = subprocess.run(
            cluster, stdin=first.stdout, capture_output=True, env=environment(), check=False
        )
        first.stdout.close()
        assert first.wait() == 0
    assert second.returncode == 0, second.stderr
    assert b"standard input: 315 rows, 3 columns" in second.stderr
    assert b"left out: column row (row numbers)" in second.stderr
    X = pd.read_csv(rings).to_numpy()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = KernelECA(3, kernel=Gaussian(0.3)).fit(scaled).transform(scaled)
    expected = EntropyClustering(3, kernel=Gaussian(0.5)).fit(Z)
    assert_array_equal(table(second.stdout)["cluster"], expected.labels_)


def test_kept_columns_of_standard_input(rings):
    done = run("embed", "-", "--keep", "--quiet", input=rings.read_bytes())
    assert done.returncode == 0, done.stderr
    kept = [line.rsplit(",", 2)[0] for line in done.stdout.decode().splitlines()]
    assert kept == rings.read_text(encoding="utf-8").splitlines()
    assert done.stderr == ""


def test_compressed_standard_input(rings):
    import gzip

    done = run("embed", "-", input=gzip.compress(rings.read_bytes()))
    assert done.returncode == 0, done.stderr
    assert table(done.stdout).shape == (315, 3)


def test_nothing_but_errors_on_failure():
    done = run("embed", "-", input=b"")
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr == (
        "mercer: standard input is empty: expected is a header line and rows below it.\n"
    )


@pytest.fixture
def long_table(tmp_path):
    """So many rows that a pipe does not hold what is written for them."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "x.csv", index=False)
    return tmp_path / "x.csv"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(long_table, unbuffered):
    env = environment(PYTHONUNBUFFERED=unbuffered)
    process = start(*COMMAND, "embed", long_table, "--quiet", env=env)
    assert process.stdout.readline() == b"row,eca1,eca2\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize(
    "arguments", [["--version"], ["entropy", "rings", "--bandwidth", "3", "--quiet"]], ids=" ".join
)
def test_a_reader_that_left_before_anything_was_said(arguments):
    """Whether it is printed by rich at once, or by print at the end."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_to_a_reader_that_leaves():
    script = f"{' '.join(COMMAND)} embed --help | head -1"
    done = subprocess.run(script, shell=True, env=environment(), capture_output=True, check=False)
    assert done.stdout.startswith(b"Usage: mercer embed")
    assert done.stderr == b""


# --- interruptions -----------------------------------------------------------------------------

# the command, held up between writing a file and putting it in its place
SLOW = """
import os, sys, time
def wait(file):
    print("writing", flush=True)
    time.sleep(600)
os.fsync = wait
from mercer.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, b"mercer: interrupted\n"),
        (signal.SIGTERM, 143, b""),
        (signal.SIGKILL, -signal.SIGKILL, b""),
    ],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
@pytest.mark.parametrize("option", ["--out", "--model"])
def test_interrupted_writes_leave_the_old_file(rings, tmp_path, option, number, code, told):
    folder = tmp_path / "results"
    folder.mkdir()
    old = folder / "old.csv"
    old.write_bytes(b"old")
    process = start(sys.executable, "-c", SLOW, "embed", rings, "--quiet", option, old)
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors == told
    assert old.read_bytes() == b"old"
    others = [path.name for path in folder.iterdir() if path != old]
    if number == signal.SIGKILL:  # nothing can tidy up; what is left is out of sight
        assert all(name.startswith(".old.csv-") for name in others)
    else:
        assert others == []


def test_an_interrupted_fit(rings):
    code = (
        "import sys, time, mercer.tables as t\n"
        "t.read_rows = lambda *a, **k: (print('working', flush=True), time.sleep(600))\n"
        "from mercer.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    process = start(sys.executable, "-c", code, "embed", rings)
    assert process.stdout.readline() == b"working\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"mercer: interrupted\n")


# --- places that cannot be written -------------------------------------------------------------


def _small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize("option", ["--out", "--model"])
def test_a_full_disk(rings, tmp_path, option):
    """As far as a process can tell: files cannot grow beyond 1000 bytes."""
    folder = tmp_path / "results"
    folder.mkdir()
    arguments = ("embed", rings, option, folder / "o.csv")
    env = {k: v for k, v in environment().items() if not k.startswith("COVERAGE_")}
    done = run(*arguments, "--quiet", env=env, preexec_fn=_small_files)  # coverage writes, too
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == b""
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_devices(rings, tmp_path):
    done = run("embed", rings, "--out", "/dev/full", "--quiet")
    assert done.returncode == 1
    assert done.stderr == "mercer: /dev/full cannot be written: No space left on device\n"
    short = tmp_path / "short.csv"  # its columns stay in the buffer, to be refused twice
    short.write_text("x\n1\n2\n4\n", encoding="utf-8")
    for name, data in (("embed", rings), ("entropy", rings), ("embed", short)):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, name, str(data), "--quiet"],
                stdout=full,
                stderr=subprocess.PIPE,
                env=environment(),
                check=False,
            )
        assert done.returncode == 1
        told = b"mercer: standard output cannot be written: No space left on device\n"
        assert done.stderr == told


def test_named_pipes_and_links_stay(rings, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = start(*COMMAND, "embed", rings, "--quiet", "--out", pipe)
    read = subprocess.run(["cat", pipe], capture_output=True, timeout=60, check=True)
    assert table(read.stdout).shape == (315, 3)
    assert process.wait() == 0
    process.communicate()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / "real.csv").write_bytes(b"old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert run("embed", rings, "--out", tmp_path / "link.csv").returncode == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert table((tmp_path / "real.csv").read_bytes()).shape == (315, 3)


def test_places_are_looked_at_before_the_work(rings, tmp_path):
    """Nobody should wait for a fit that cannot be written."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder.csv").mkdir()
    done = run("embed", tmp_path / "none.csv", "--out", tmp_path / "file" / "o.csv")
    assert done.returncode == 1
    assert "is a file, not a folder" in done.stderr
    done = run("embed", tmp_path / "none.csv", "--out", tmp_path / "folder.csv")
    assert "is a folder; add a file name" in done.stderr
    done = run("embed", tmp_path / "none.csv", "--model", tmp_path)
    assert "is a folder; add a file name" in done.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folders(rings, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    done = run("embed", rings, "--out", folder / "o.csv")
    assert done.returncode == 1
    assert "is read-only" in done.stderr


# --- help and completion -----------------------------------------------------------------------

NAMES = ["embed", "cluster", "density", "entropy", "denoise", "discriminate", "completion"]


def test_help_imports_little():
    """Asking for help must not import what only the work needs."""
    asked = [["--version"], ["--help"], *[[name, "--help"] for name in NAMES]]
    code = (
        f"import sys; from mercer.cli import main; [main(arguments) for arguments in {asked!r}];"
        "sys.exit(bool({'sklearn', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = run("-c", code, entry=[sys.executable])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"mercer {name} " in told.partition("For example:")[2]
    if name not in ("entropy", "completion"):
        for option in ("--label", "--missing", "--no-scale", "--bandwidth", "--apply", "--quiet"):
            assert option in told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in NAMES)
    assert "categorical" in script
    if shutil.which(shell):
        done = subprocess.run(
            [shell, "-n"], input=script.encode(), capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_other_shells(capsys):
    assert main(["completion", "csh"]) == 2


def test_bash_completes_commands_and_options(tmp_path):
    if not shutil.which("bash"):
        pytest.skip("needs bash")
    (tmp_path / "mercer.bash").write_bytes(run("completion", "bash").stdout)
    script = """
    source mercer.bash
    COMP_WORDS=(mercer embed --comp); COMP_CWORD=2; COMP_LINE='mercer embed --comp'; COMP_POINT=19
    $(complete -p mercer | sed 's/.*-F \\([^ ]*\\).*/\\1/') mercer --comp embed
    echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "--components" in done.stdout, done.stderr


def test_output_is_read_back_to_the_last_digit(rings, tmp_path):
    run("embed", rings, "--out", tmp_path / "o.csv", "--model", tmp_path / "m.mercer")
    run("embed", rings, "--out", tmp_path / "o.npy", "--apply", tmp_path / "m.mercer")
    written = table((tmp_path / "o.csv").read_bytes())[["eca1", "eca2"]].to_numpy()
    assert_array_equal(written, np.load(tmp_path / "o.npy"))
    assert_allclose(np.abs(written).max(), 1, atol=0.9)
