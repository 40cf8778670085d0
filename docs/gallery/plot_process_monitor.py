"""
Control charts of a process
===========================

A sticking valve changes the dynamics of a reactor, not its mean values. The statistic of single
rows hardly sees it; the moving average and the cumulative sum collect the evidence. The same chart
without lags misses it.
"""

import matplotlib.pyplot as plt

from mercer import ProcessMonitor
from mercer.datasets import make_process
from mercer.plots import MonitoringDisplay

# %%
# Normal operation of a stirred tank reactor, one row per minute, and a period in which the coolant
# valve begins to stick after 300 minutes.

normal = make_process(1500, random_state=0)
sticking = make_process(900, fault="valve-sticking", fault_start=300, random_state=1)

# %%
# The number of lags is chosen by the prediction of held-out rows. Limits promise that 1 % of
# normal rows raise an alarm.

monitor = ProcessMonitor().fit(normal)
MonitoringDisplay.from_estimator(monitor, sticking, charts=("statistic", "ewma", "cusum"))

# %%
# Fraction of rows with an alarm before and after the fault, with and without lags.

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for k, n_lags in enumerate((0, monitor.n_lags_)):
    frame = ProcessMonitor(n_lags=n_lags).fit(normal).monitor(sticking)
    fractions = [
        frame[f"{chart}_alarm"].iloc[300:].mean() for chart in ("statistic", "ewma", "cusum")
    ]
    ax.bar([x + 0.4 * k for x in range(3)], fractions, width=0.38, label=f"{n_lags} lags")
ax.set_xticks([0.2, 1.2, 2.2], ["statistic", "EWMA", "CUSUM"])
ax.set_ylabel("detected rows")
ax.legend()
plt.show()
