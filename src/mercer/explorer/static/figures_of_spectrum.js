// Figures of the spectrum and of the bandwidth path.

import { setCaption, setChips, setNumbers } from "./cards.js";
import { number, percent, rankList } from "./format.js";
import { color, CONFIG, layout, palette } from "./theme.js";

export function drawSpectrum(plot, { summary, toggle }, view) {
  const selected = new Set(view.selected);
  const isSelected = (rank) => selected.has(rank);
  const order = view.order === "entropy" ? "by entropy term" : "by eigenvalue";
  setCaption(
    "spectrum",
    `Selected: ${rankList(summary.ranks)} with ${percent(summary.potential_fraction)} of the ` +
      "information potential. Click a bar to add or remove its component.",
  );
  setChips(
    "spectrum",
    "Components, pressed if selected",
    view.ranks.map((rank) => ({
      text: String(rank),
      isPressed: isSelected(rank),
      label: `Component ${rank}`,
      press: () => toggle(rank),
    })),
  );
  setNumbers(
    "spectrum",
    ["component", "eigenvalue", "of the trace", "entropy term", "of V", "selected"],
    view.ranks.map((rank, i) => [
      rank,
      number(view.eigenvalues[i]),
      percent(view.variance_ratio[i]),
      number(view.entropy_terms[i]),
      percent(view.entropy_ratio[i]),
      isSelected(rank) ? "yes" : "",
    ]),
  );
  const bars = (values, yaxis, total) => ({
    type: "bar",
    x: view.ranks.map(String),
    y: values,
    xaxis: "x",
    yaxis,
    marker: {
      color: view.ranks.map((rank) => color(isSelected(rank) ? "selected" : "unselected")),
    },
    customdata: view.ranks,
    hovertemplate: `component %{x}: %{y:.3p} of ${total}<extra></extra>`,
  });
  const yaxis = { tickformat: ".0%", nticks: 4, fixedrange: true };
  const settings = {
    hovermode: "x",
    bargap: 0.25,
    xaxis: {
      title: { text: `component, ${order}`, standoff: 4 },
      type: "category",
      tickangle: 0,
      nticks: 12,
      anchor: "y2",
      fixedrange: true,
    },
    yaxis: { ...yaxis, domain: [0.55, 1], title: { text: "λ / trace", standoff: 4 } },
    yaxis2: { ...yaxis, domain: [0, 0.45], title: { text: "ψ / V", standoff: 4 } },
  };
  const made = [bars(view.variance_ratio, "y", "the trace"), bars(view.entropy_ratio, "y2", "V")];
  return Plotly.react(plot, made, layout(settings), CONFIG);
}

export function drawPath(plot, { summary }, view) {
  setCaption(
    "path",
    `Cost of ${view.clusters} clusters and selected components by bandwidth. ` +
      `The sweep selects ${number(view.optimum)}.`,
  );
  setNumbers(
    "path",
    ["σ", "cost per row", "stability", "components"],
    view.bandwidth.map((bandwidth, i) => [
      number(bandwidth),
      number(view.cost[i]),
      number(view.stability[i], 2),
      view.components[i].join(", "),
    ]),
  );
  const dots = view.bandwidth.flatMap((bandwidth, i) =>
    view.components[i].map((rank) => [bandwidth, rank]),
  );
  const cost = {
    type: "scatter",
    mode: "lines+markers",
    x: view.bandwidth,
    y: view.cost,
    line: { color: palette()[0], width: 2 },
    marker: { size: 4 },
    hovertemplate: "σ = %{x:.3~g}: cost %{y:.3f}<extra></extra>",
  };
  const components = {
    type: "scatter",
    mode: "markers",
    x: dots.map(([bandwidth]) => bandwidth),
    y: dots.map(([, rank]) => rank),
    yaxis: "y2",
    marker: { size: 5, color: color("selected"), symbol: "square" },
    hovertemplate: "σ = %{x:.3~g}: component %{y}<extra></extra>",
  };
  const settings = {
    xaxis: {
      type: "log",
      title: { text: summary.is_numeric ? "bandwidth σ" : "bandwidth multiplier", standoff: 4 },
      anchor: "y2",
      fixedrange: true,
      tickvals: ticksOf(view.bandwidth),
    },
    yaxis: { domain: [0.52, 1], title: { text: "cost", standoff: 4 }, nticks: 4, fixedrange: true },
    yaxis2: {
      domain: [0, 0.44],
      title: { text: "component", standoff: 4 },
      type: "log",
      tickvals: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
      fixedrange: true,
    },
    shapes: pathShapes(summary, view.optimum),
  };
  return Plotly.react(plot, [cost, components], layout(settings), CONFIG);
}

function pathShapes({ marks, bandwidth }, optimum) {
  const vertical = (x, lineColor, dash) => ({
    type: "line",
    x0: x,
    x1: x,
    yref: "paper",
    y0: 0,
    y1: 1,
    line: { color: lineColor, width: dash ? 1 : 2, dash },
  });
  const lines = [vertical(optimum, color("accent"), "dash"), vertical(bandwidth, color("ink"))];
  if (marks.silverman === undefined) return lines;
  const band = {
    type: "rect",
    x0: marks.fraction_low,
    x1: marks.fraction_high,
    yref: "paper",
    y0: 0,
    y1: 1,
    fillcolor: color("band"),
    opacity: 0.45,
    line: { width: 0 },
    layer: "below",
  };
  return [band, vertical(marks.silverman, color("soft"), "dot"), ...lines];
}

/** Ticks at 1, 2 and 5 times powers of ten. */
function ticksOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  }
  return ticks.filter((tick) => tick >= 0.9 * low && tick <= 1.1 * high);
}
