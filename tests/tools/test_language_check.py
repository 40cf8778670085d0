"""The language check finds words to avoid, and accepts technical terms."""

import pytest

from tools.check_language import findings, main


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a Lonely point", ["Lonely"]),
        ("the rows that stayed behind are told", ["stayed behind", "are told"]),
        ("equal to rounding", ["to rounding"]),
        ("centred kernels", ["centred"]),
        ("three neighbours", ["neighbours"]),
        ("an isolated point, equal up to rounding error", []),
        ("for word in words", []),
    ],
)
def test_words_to_avoid_are_found(tmp_path, text, expected):
    path = tmp_path / "page.md"
    path.write_text(f"a title\n{text}\n", encoding="utf-8")
    found = list(findings(path))
    assert sorted(words for _, words, _ in found) == sorted(expected)
    assert {number for number, _, _ in found} <= {2}


def test_output_names_file_and_line(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text("fine\nmade anew\n", encoding="utf-8")
    assert main([str(path)]) == 1
    assert f"{path}:2:" in capsys.readouterr().out
    path.write_text("fine\n", encoding="utf-8")
    assert main([str(path)]) == 0
