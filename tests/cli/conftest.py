"""Tables and commands of several test files."""

import pytest


@pytest.fixture(scope="module")
def iris():
    import numpy as np
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture
def flowers(iris, tmp_path):
    """Write a CSV of numeric columns and a column of classes."""
    import pandas as pd

    from tests.cli.running import COLUMNS

    path = tmp_path / "flowers.csv"
    pd.DataFrame(iris[0], columns=COLUMNS).assign(species=iris[1]).to_csv(path, index=False)
    return path


@pytest.fixture
def machines(tmp_path):
    """Write a CSV of numbers, categories, texts, dates and missing values."""
    import pandas as pd

    from mercer.datasets import make_machines

    columns, state = make_machines(80, random_state=5)
    path = tmp_path / "machines.csv"
    pd.DataFrame(columns).assign(state=state).to_csv(path, index=False)
    return path


@pytest.fixture
def command(capsys):
    """Run in this process; return standard output as a data frame, and standard error."""
    from mercer.cli import main
    from tests.cli.running import table

    def run(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        if code:
            assert printed.out == ""
            assert "Traceback" not in printed.err
        return (table(printed.out) if printed.out else None), printed.err

    return run
