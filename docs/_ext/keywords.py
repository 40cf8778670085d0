"""Keywords that people search for, and the page that each of them should find.

They become index entries and meta keywords below the title of their page, so that Sphinx's search
lists this page first also if its text uses other words.
"""

from __future__ import annotations

import re
from typing import Any

#: Page (without suffix) and its keywords, in lower case. A keyword belongs to one page.
_TABLE = {
    "installation": "install, pip, requirements, extras",
    "glossary": "glossary, information potential, certificate, terminology, definitions",
    "choosing": "which method, which algorithm, limitations",
    "embedding": (
        "embedding, dimensionality reduction, dimension reduction, visualization, manifold, "
        "kernel pca, kernel eca, kernel entropy component analysis, nonlinear pca, denoise, "
        "denoising, pre-image, preimage, noise removal"
    ),
    "clustering": (
        "cluster, clusters, clustering, spectral clustering, segmentation, number of clusters, "
        "community detection, unsupervised"
    ),
    "densities": (
        "kde, kernel density, kernel density estimation, density, density estimation, parzen, "
        "histogram, quantile, probability density"
    ),
    "novelty": (
        "anomaly, anomaly detection, anomalies, outlier, outliers, outlier detection, novelty, "
        "novelty detection, one-class, false alarm, unusual rows"
    ),
    "monitoring": (
        "process monitoring, monitoring, control chart, control limits, drift, fault detection, "
        "time series, hotelling, t2, spe, dpca, sensor, spc, ewma, cusum"
    ),
    "classification": (
        "classification, classifier, regression, prediction, discriminant analysis, lda, "
        "probabilities, calibration, prediction interval, supervised"
    ),
    "mixtures": ("mixture, mixture model, gaussian mixture, em algorithm, generative model"),
    "diversity": (
        "diversity, vendi, vendi score, rke, embeddings, mode collapse, duplicates, near-"
        "duplicates, semantic search duplicates, deduplication, mmd, two-sample test, "
        "generative models, distribution shift"
    ),
    "entropy": ("entropy, renyi, information, divergence, mutual information, cauchy-schwarz"),
    "any-data": (
        "categorical, missing values, nan, text, texts, strings, sets, graph, graphs, mixed "
        "table, data frame, pandas, polars, custom kernel, own kernel, precomputed, distance "
        "matrix, callable"
    ),
    "big-data": (
        "big data, scalability, large data, memory, nystrom, landmarks, fourier features, "
        "partial_fit, streaming, out-of-core"
    ),
    "distributed": "dask, cluster computing, distributed, parallel, slurm, kubernetes",
    "sample-weights": "sample weights, sample_weight, weights",
    "report": "report, html report, exploratory data analysis, profiling",
    "explorer": "explorer, interactive, browser, dashboard",
    "commands": "command line, cli, csv, parquet, terminal, shell",
    "coming-from/scikit-learn": ("scikit-learn, sklearn, gamma, rbf, kerneldensity, oneclasssvm"),
    "coming-from/umap-hdbscan": "umap, hdbscan, t-sne, tsne, dbscan",
    "coming-from/r": "r, kernlab, ks",
    "tutorials/choosing-a-bandwidth": ("bandwidth, sigma, hyperparameter, grid search, tuning"),
    "benchmarks": "benchmark, speed, performance",
}
KEYWORDS = {page: keywords.split(", ") for page, keywords in _TABLE.items()}

_TITLE = re.compile(r"^# .+\n", re.MULTILINE)
_BLOCK = """
```{{eval-rst}}
.. meta::
   :keywords: {keywords}

.. index::
{entries}
```
"""


def add_keywords(page: str, text: str) -> str:
    """Return the Markdown text of a page with its keywords below the title."""
    if page not in KEYWORDS:
        return text
    entries = "\n".join(f"   ! single: {keyword}" for keyword in KEYWORDS[page])
    block = _BLOCK.format(keywords=", ".join(KEYWORDS[page]), entries=entries)
    return _TITLE.sub(lambda title: title[0] + block, text, count=1)


def change_source(app: Any, page: str, source: list[str]) -> None:
    """Add the keywords of a page that Sphinx reads."""
    source[0] = add_keywords(page, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx events."""
    app.connect("source-read", change_source)
    return {"parallel_read_safe": True}
