"""Commands as processes: pipes, signals, full disks and temporary files."""

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
from sklearn.preprocessing import StandardScaler

from mercer import KernelECA, SpectralClustering
from mercer.cli import main
from mercer.datasets import make_rings
from mercer.kernels import Gaussian
from tests.cli.running import COMMAND, MODULE, assert_names, run, start, table
from tests.processes import environment

posix = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX systems")
pytestmark = posix


@pytest.fixture
def rings(tmp_path):
    X, _ = make_rings(random_state=0)
    path = tmp_path / "rings.csv"
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    return path


# --- entry points and pipes --------------------------------------------------------------------


def test_script_and_module_give_the_same_output(rings):
    arguments = ("embed", rings, "--components", 3)
    by_script, by_module = run(*arguments), run(*arguments, entry=MODULE)
    assert by_script.returncode == by_module.returncode == 0, by_script.stderr
    assert by_script.stdout == by_module.stdout
    assert table(by_script.stdout).shape == (315, 4)


def test_commands_can_be_piped(rings):
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
    assert_names(second.stderr, "standard input", "315 rows", "3 columns", "column row")
    X = pd.read_csv(rings).to_numpy()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = KernelECA(3, kernel=Gaussian(0.3)).fit(scaled).transform(scaled)
    expected = SpectralClustering(3, kernel=Gaussian(0.5)).fit(Z)
    assert_array_equal(table(second.stdout)["cluster"], expected.labels_)


def test_keep_writes_columns_of_standard_input(rings):
    done = run("embed", "-", "--keep", "--quiet", input=rings.read_bytes())
    assert done.returncode == 0, done.stderr
    copied = [line.rsplit(",", 2)[0] for line in done.stdout.decode().splitlines()]
    assert copied == rings.read_text(encoding="utf-8").splitlines()
    assert done.stderr == ""


def test_compressed_standard_input(rings):
    import gzip

    done = run("embed", "-", input=gzip.compress(rings.read_bytes()))
    assert done.returncode == 0, done.stderr
    assert table(done.stdout).shape == (315, 3)


def test_failure_prints_one_line_on_standard_error():
    done = run("embed", "-", input=b"")
    assert done.returncode == 1
    assert done.stdout == b""
    assert_names(done.stderr, "mercer:", "standard input")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def long_table(tmp_path):
    """Write more rows than the buffer of a pipe can hold."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "x.csv", index=False)
    return tmp_path / "x.csv"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_is_not_an_error(long_table, unbuffered):
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
def test_pipe_closed_before_any_output(arguments):
    """The package rich prints at once, ``print`` at the end."""
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


def test_help_to_a_closed_pipe():
    script = f"{' '.join(COMMAND)} embed --help | head -1"
    done = subprocess.run(script, shell=True, env=environment(), capture_output=True, check=False)
    assert done.stdout.startswith(b"Usage: mercer embed")
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--version", 1),
        ("embed --help", 1),
        ("completion bash", 1),
        ("report rings --out report", 1),
        ("embed rings --quiet", 1),
        ("embed rings --quiet --out o.csv", 0),
    ],
)
def test_closed_standard_output(arguments, code, tmp_path):
    """An error if something is written to it (``>&-``)."""
    script = f"{' '.join(COMMAND)} {arguments} >&-"
    done = subprocess.run(
        script, shell=True, cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    if code:
        assert_names(done.stderr, "standard output")
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", ["embed", "report"])
def test_closed_standard_input(command, tmp_path):
    script = f"{' '.join(COMMAND)} {command} - <&-"
    done = subprocess.run(
        script, shell=True, cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_closed_standard_error(rings, tmp_path):
    """Messages are dropped, and not mixed with the data."""
    script = f"{' '.join(COMMAND)} embed {rings} 2>&-"
    done = subprocess.run(script, shell=True, env=environment(), capture_output=True, check=False)
    assert done.returncode == 0
    assert table(done.stdout).shape == (315, 3)


# --- interruptions -----------------------------------------------------------------------------

# the command, paused after it has written a temporary file and before it renames the file
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
    ("number", "code", "lines"),
    [
        (signal.SIGINT, 130, 1),
        (signal.SIGTERM, 143, 0),
        (signal.SIGKILL, -signal.SIGKILL, 0),
    ],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
@pytest.mark.parametrize("option", ["--out", "--model"])
def test_interrupted_write_leaves_the_old_file(rings, tmp_path, option, number, code, lines):
    folder = tmp_path / "results"
    folder.mkdir()
    old = folder / "old.csv"
    old.write_bytes(b"old")
    process = start(sys.executable, "-c", SLOW, "embed", rings, "--quiet", option, old)
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors.count(b"\n") == lines
    assert b"Traceback" not in errors
    assert old.read_bytes() == b"old"
    others = [path.name for path in folder.iterdir() if path != old]
    if number == signal.SIGKILL:  # nothing can clean up; temporary files are hidden
        assert all(name.startswith(".mercer-staging-") for name in others)
    else:
        assert others == []


def test_interrupted_fit(rings):
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
    assert (process.returncode, output) == (130, b"")
    assert errors.count(b"\n") == 1


# --- output that cannot be written -------------------------------------------------------------


def _small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize("option", ["--out", "--model"])
def test_full_disk(rings, tmp_path, option):
    """Simulated by a limit of 1000 bytes per file."""
    folder = tmp_path / "results"
    folder.mkdir()
    arguments = ("embed", rings, option, folder / "o.csv")
    env = {k: v for k, v in environment().items() if not k.startswith("COVERAGE_")}
    done = run(*arguments, "--quiet", env=env, preexec_fn=_small_files)  # coverage writes, too
    assert done.returncode == 1
    assert_names(done.stderr, "File too large")
    assert "Traceback" not in done.stderr
    assert done.stdout == b""
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_devices(rings, tmp_path):
    done = run("embed", rings, "--out", "/dev/full", "--quiet")
    assert done.returncode == 1
    assert_names(done.stderr, "/dev/full", "No space left on device")
    short = tmp_path / "short.csv"  # its columns fit in the buffer, which is flushed twice
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
        assert_names(done.stderr, "standard output", "No space left on device")
        assert done.stderr.count(b"\n") == 1


def test_named_pipes_and_links_are_not_replaced(rings, tmp_path):
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


def test_output_is_checked_before_the_input_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder.csv").mkdir()
    done = run("embed", tmp_path / "none.csv", "--out", tmp_path / "file" / "o.csv")
    assert done.returncode == 1
    assert_names(done.stderr, tmp_path / "file", tmp_path / "file" / "o.csv")
    assert "none.csv" not in done.stderr
    done = run("embed", tmp_path / "none.csv", "--out", tmp_path / "folder.csv")
    assert_names(done.stderr, tmp_path / "folder.csv")
    assert "none.csv" not in done.stderr
    done = run("embed", tmp_path / "none.csv", "--model", tmp_path)
    assert_names(done.stderr, tmp_path)
    assert "none.csv" not in done.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folders(rings, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    done = run("embed", rings, "--out", folder / "o.csv")
    assert done.returncode == 1
    assert_names(done.stderr, folder)
    assert "Traceback" not in done.stderr


# --- help and completion -----------------------------------------------------------------------

NAMES = [
    "embed",
    "cluster",
    "density",
    "novelty",
    "entropy",
    "diversity",
    "denoise",
    "discriminate",
    "explore",
    "completion",
]


def test_help_imports_no_heavy_packages():
    calls = [["--version"], ["--help"], *[[name, "--help"] for name in NAMES]]
    code = (
        f"import sys; from mercer.cli import main; [main(arguments) for arguments in {calls!r}];"
        "sys.exit(bool({'sklearn', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = run("-c", code, entry=[sys.executable])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"mercer {name} " in printed.partition("For example:")[2]
    reading = ["--label", "--ignore", "--categorical", "--missing", "--encoding"]
    fitting = ["--no-scale", "--bandwidth", "--solver"]
    output = ["--apply", "--quiet", "--overwrite"]
    options = {"completion": [], "explore": reading, "entropy": reading + fitting}
    options["diversity"] = ["--against", "--kernel", "--bandwidth", "--orders", "--out"]
    options["novelty"] = [*reading, *output, "--false-alarm-rate", "--cells"]
    assert_names(printed, *options.get(name, reading + fitting + output))


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


def test_completion_of_unknown_shells(capsys):
    assert main(["completion", "csh"]) == 2
    assert_names(capsys.readouterr().err, "csh")


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


def test_output_has_all_digits(rings, tmp_path):
    run("embed", rings, "--out", tmp_path / "o.csv", "--model", tmp_path / "m.mercer")
    run("embed", rings, "--out", tmp_path / "o.npy", "--apply", tmp_path / "m.mercer")
    written = table((tmp_path / "o.csv").read_bytes())[["eca1", "eca2"]].to_numpy()
    assert_array_equal(written, np.load(tmp_path / "o.npy"))
    X = StandardScaler().fit_transform(pd.read_csv(rings).to_numpy())
    direct = KernelECA(2, kernel=Gaussian("auto")).fit(X)
    assert_allclose(written, direct.transform(X), rtol=1e-9, atol=1e-11)
