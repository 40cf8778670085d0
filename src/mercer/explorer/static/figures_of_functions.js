// Figures of the Gram matrix and of the eigenfunctions.

import { setCaption } from "./cards.js";
import { percent, rankList } from "./format.js";
import { color, CONFIG, diverging, layout, sequential } from "./theme.js";

export function drawGram(plot, { views, selected }, view) {
  setCaption(
    "gram",
    `${view.size} rows ordered by cluster. The relative error of the reconstruction from the ` +
      `selected components is ${percent(view.error)}.`,
  );
  const heatmap = (content, suffix) => ({
    type: "heatmap",
    z: decodeMatrix(content, view),
    xaxis: `x${suffix}`,
    yaxis: `y${suffix}`,
    zmin: view.low,
    zmax: view.high,
    colorscale: sequential(),
    showscale: false,
    hovertemplate: "rows %{y}, %{x}: %{z:.3f}<extra></extra>",
  });
  const indices = view.rows.flatMap((row, i) => (selected.has(row) ? [i] : []));
  const markers = ["", "2"].map((suffix) => ({
    type: "scatter",
    mode: "markers",
    xaxis: `x${suffix}`,
    yaxis: `y${suffix}`,
    hoverinfo: "skip",
    name: "selected",
    y: indices,
    x: indices.map(() => -0.03 * view.size),
    marker: { symbol: "triangle-right", size: 7, color: color("selected") },
  }));
  const axis = {
    showticklabels: false,
    ticks: "",
    showgrid: false,
    zeroline: false,
    constrain: "domain",
    fixedrange: true,
    range: [-0.06 * view.size, view.size],
    side: "top",
  };
  const yaxis = { ...axis, range: [view.size, -1], side: "left" };
  const settings = {
    margin: { l: 8, r: 8, t: 26, b: 8 },
    shapes: clusterLines(view, views.points.clusters),
    xaxis: { ...axis, domain: [0, 0.485], title: { text: "K", standoff: 4 } },
    yaxis: { ...yaxis, scaleanchor: "x" },
    xaxis2: {
      ...axis,
      domain: [0.515, 1],
      anchor: "y2",
      title: { text: "from the selected components", standoff: 4 },
    },
    yaxis2: { ...yaxis, scaleanchor: "x2", anchor: "x2" },
  };
  const made = [heatmap(view.gram, ""), heatmap(view.reconstruction, "2"), ...markers];
  return Plotly.react(plot, made, layout(settings), CONFIG);
}

/** A matrix of base64-encoded bytes between `low` and `high`. */
function decodeMatrix(content, { size, low, high }) {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const step = (high - low) / 255;
  return Array.from({ length: size }, (_, i) =>
    Array.from(bytes.subarray(i * size, (i + 1) * size), (byte) => low + byte * step),
  );
}

/** Lines between the clusters of both matrices. */
function clusterLines(view, clusters) {
  const codes = view.rows.map((i) => clusters[i]);
  const borders = codes.flatMap((code, i) => (i && code !== codes[i - 1] ? [i - 0.5] : []));
  const line = { color: color("selected"), width: 1 };
  const ends = [-0.5, view.size - 0.5];
  return ["", "2"].flatMap((suffix) =>
    borders.flatMap((border) => {
      const common = { type: "line", xref: `x${suffix}`, yref: `y${suffix}`, line };
      return [
        { ...common, x0: border, x1: border, y0: ends[0], y1: ends[1] },
        { ...common, y0: border, y1: border, x0: ends[0], x1: ends[1] },
      ];
    }),
  );
}

export function drawEigenfunctions(plot, { views, selected }, view) {
  setCaption(
    "eigenfunctions",
    `Components ${rankList(view.ranks)} as functions of the plane: blue negative, orange positive.`,
  );
  const made = [];
  const settings = { margin: { l: 6, r: 6, t: 24, b: 6 }, annotations: [] };
  const rows = [...selected];
  view.z.forEach((z, i) => {
    const suffix = i ? String(i + 1) : "";
    const axes = { xaxis: `x${suffix}`, yaxis: `y${suffix}` };
    made.push({ ...contour(view, z), ...axes });
    if (rows.length) {
      made.push({
        type: "scatter",
        mode: "markers",
        ...axes,
        x: rows.map((row) => views.data.x[row]),
        y: rows.map((row) => views.data.y[row]),
        marker: { size: 4, color: color("ink") },
        hoverinfo: "skip",
      });
    }
    const width = 1 / view.z.length;
    const domain = [i * width + 0.008, (i + 1) * width - 0.008];
    const axis = {
      showticklabels: false,
      showgrid: false,
      zeroline: false,
      constrain: "domain",
      fixedrange: true,
    };
    const range = (values) => [values[0], values.at(-1)];
    settings[`xaxis${suffix}`] = { ...axis, domain, anchor: axes.yaxis, range: range(view.x) };
    settings[`yaxis${suffix}`] = {
      ...axis,
      anchor: axes.xaxis,
      scaleanchor: axes.xaxis,
      range: range(view.y),
    };
    settings.annotations.push({
      text: view.ranks[i] === null ? "φ" : `φ<sub>${view.ranks[i]}</sub>`,
      x: (domain[0] + domain[1]) / 2,
      y: 1,
      xref: "paper",
      yref: "paper",
      yanchor: "bottom",
      showarrow: false,
      font: { size: 13 },
    });
  });
  return Plotly.react(plot, made, layout(settings), CONFIG);
}

function contour(view, z) {
  const reach = Math.max(...z.flat().map(Math.abs));
  return {
    type: "contour",
    x: view.x,
    y: view.y,
    z,
    zmin: -reach,
    zmax: reach,
    autocontour: false,
    contours: { start: (-15 * reach) / 16, end: (15 * reach) / 16, size: reach / 8 },
    colorscale: diverging(),
    showscale: false,
    line: { width: 0.4, color: color("line") },
    hovertemplate: "%{x:.3~g}, %{y:.3~g}: %{z:.3~g}<extra></extra>",
  };
}
