"""describe_clusters: effect sizes of clusters, for any labels."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import describe_clusters
from mercer.cluster.profiles import cluster_traits, cohens_h, robust_scale
from mercer.tables import as_table
from tests.expectations import raises


@pytest.fixture
def frame(rng):
    group = np.repeat([0, 1, 2], 20)
    return pd.DataFrame(
        {
            "size": rng.normal(3.0 * group),
            "color": np.where(group == 1, "red", "blue"),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(group, unit="D"),
            "same": 7,
        }
    )


LABELS = np.repeat([0, 1, 2], 20)


def test_effects_are_medians_in_robust_standard_deviations_and_cohens_h(frame):
    found = describe_clusters(frame, LABELS, min_effect=0).set_index(["cluster", "column"])
    size = found.loc[(2, "size")]
    low, high = np.quantile(frame["size"], [0.25, 0.75])
    assert size["inside"] == np.median(frame["size"][LABELS == 2])
    assert size["overall"] == np.median(frame["size"])
    assert size["effect"] == pytest.approx((size.inside - size.overall) / (high - low) * 1.349)
    color = found.loc[(1, "color")]
    assert (color["label"], color["inside"], color["overall"]) == ("red", 1.0, pytest.approx(1 / 3))
    assert color["effect"] == pytest.approx(np.pi - 2 * np.arcsin(np.sqrt(1 / 3)))
    assert found.loc[(0, "when"), "inside"] == "2026-01-01T00:00:00"
    assert "same" not in found.index.get_level_values("column")


def test_rows_are_ordered_by_cluster_and_absolute_effect(frame):
    found = describe_clusters(frame, LABELS)
    assert found["cluster"].is_monotonic_increasing
    assert (found["effect"].abs() >= 0.2).all()
    for _, rows in found.groupby("cluster"):
        assert rows["effect"].abs().is_monotonic_decreasing
    assert len(describe_clusters(frame, LABELS, min_effect=0)) == 9


def test_labels_may_be_strings_and_negative_numbers_are_noise(frame):
    numbers = describe_clusters(frame, LABELS, min_effect=0)
    names = describe_clusters(frame, np.array(["a", "b", "c"])[LABELS], min_effect=0)
    assert names["cluster"].tolist() == [("a", "b", "c")[c] for c in numbers["cluster"]]
    pd.testing.assert_frame_equal(names.drop(columns="cluster"), numbers.drop(columns="cluster"))
    noise = describe_clusters(frame, LABELS - 1)
    assert sorted(noise["cluster"].unique()) == [0, 1]


def test_report_uses_the_same_numbers(frame):
    found = describe_clusters(frame, LABELS, min_effect=0)
    traits = cluster_traits(as_table(frame), LABELS)
    assert found["effect"].tolist() == [trait.effect for trait in traits]


def test_missing_values_and_empty_rows_are_accepted(frame):
    frame = frame.drop(columns="same").astype({"color": object})
    frame.loc[3, "size"] = np.nan
    frame.loc[25] = [np.nan, None, pd.NaT]
    found = describe_clusters(frame, LABELS, min_effect=0).set_index(["cluster", "column"])
    members = np.setdiff1d(np.arange(20), [3])
    assert found.loc[(0, "size"), "inside"] == np.median(frame["size"][members])


def test_one_cluster_has_no_differences(frame):
    found = describe_clusters(frame, np.zeros(60, dtype=int))
    assert len(found) == 0
    assert "effect" in found


def test_labels_of_another_length_are_rejected(frame):
    with raises(ValueError, 59, 60):
        describe_clusters(frame, LABELS[:-1])


def test_name_is_public():
    assert mercer.describe_clusters is describe_clusters


def test_robust_scale_estimates_the_standard_deviation_without_outliers():
    values = np.random.default_rng(0).normal(5, 3, size=100_000)
    assert robust_scale(values) == pytest.approx(3, rel=0.02)
    assert robust_scale(np.array([0.0, 1, 2, 3, 4])) == robust_scale(np.array([0.0, 1, 2, 3, 1e9]))
    mostly_equal = np.array([1.0] * 9 + [2.0])
    assert robust_scale(mostly_equal) == pytest.approx(mostly_equal.std())


def test_cohens_h_is_a_difference_of_arcsines():
    p, q = np.array([0.0, 1.0, 0.3]), np.array([0.0, 0.0, 0.7])
    expected = 2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q))
    assert cohens_h(p, q) == pytest.approx(expected)


def test_summaries_name_the_largest_effects(frame):
    found = describe_clusters(frame, LABELS, min_effect=0)
    lines = describe_clusters(frame, LABELS, summary=True)
    assert lines.index.to_list() == [0, 1, 2]
    for cluster, line in lines.items():
        largest = found[found["cluster"] == cluster].iloc[0]
        assert str(largest["column"]) in line.split(", ")[0]
        assert line.count(", ") <= 2


def test_summaries_of_numbers_dates_and_categories():
    frame = pd.DataFrame(
        {
            "weight": [1.0, 2, 3, 11, 12, 13],
            "built": pd.to_datetime(["2001", "2002", "2003", "2011", "2012", "2013"]),
            "origin": ["usa"] * 3 + ["japan"] * 3,
        }
    )
    lines = describe_clusters(frame, [0, 0, 0, 1, 1, 1], summary=True)
    assert set(lines[0].split(", ")) == {"low weight", "early built", "origin usa"}
    assert set(lines[1].split(", ")) == {"high weight", "late built", "origin japan"}
    assert set(describe_clusters(frame, [0] * 6, summary=True)) == set()
