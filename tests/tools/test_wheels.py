"""The check for wheels of all dependencies."""

from tools import wheels


def test_every_platform_and_python_version_is_checked():
    asked = []

    def find(requirements, platform, python):
        asked.append((tuple(requirements), platform, python))
        return {"numpy": "2.4.6", "scipy": "1.17.1"} if "numpy>=2" in requirements else None

    table, complete = wheels.check(["numpy>=2", "scipy"], ["finufft"], find)
    assert complete  # optional packages may be missing
    for platform in wheels.PLATFORMS.values():
        for python in ("3.11", "3.12", "3.13", "3.14"):
            assert (("numpy>=2", "scipy"), platform, python) in asked
    rows = table.splitlines()[2:]
    assert len(rows) == 20
    assert all("2.4.6 | 1.17.1 | no wheel" in row for row in rows)


def test_a_missing_wheel_of_a_required_package_fails():
    def find(requirements, platform, python):
        return None if (platform, python) == missing else {"numpy": "2.4.6"}

    missing = wheels.PLATFORMS["Linux aarch64"], "3.13"
    table, complete = wheels.check(["numpy"], [], find)
    assert not complete
    (row,) = (row for row in table.splitlines() if "no wheel" in row)
    assert row.startswith("| Linux aarch64 | 3.13 |")
