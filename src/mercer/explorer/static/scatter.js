// Scatter plots with one trace per class, each with its own color and shape.

import { color, CONFIG, labelScale, layout, palette, SYMBOLS } from "./theme.js";

const MANY = 400; // above this number of points, outlines and individual sizes are too slow

/** Groups of points by class or cluster: {name, color, symbol, members}. */
export function groups(points, by) {
  const { classes, clusters, rows } = points;
  if (by === "cluster" || !classes) {
    const codes = matchClasses(points);
    const name = (cluster) => (cluster < 0 ? "no cluster" : `cluster ${cluster}`);
    return groupBy(clusters, name, (cluster) => codes[cluster] ?? cluster);
  }
  if (classes.kind === "number") {
    const members = rows.map((_, i) => i);
    return [{ name: "label", values: classes.values, symbol: "circle", members }];
  }
  return groupBy(
    classes.values,
    (code) => classes.names[code],
    (code) => code,
  );
}

function groupBy(codes, name, colorIndex) {
  const members = new Map();
  codes.forEach((code, i) => {
    if (!members.has(code)) members.set(code, []);
    members.get(code).push(i);
  });
  const colors = palette();
  return [...members.keys()]
    .sort((a, b) => a - b)
    .map((code) => ({
      name: name(code),
      members: members.get(code),
      color: code < 0 ? color("unselected") : colors[colorIndex(code) % colors.length],
      symbol: code < 0 ? "circle-open" : SYMBOLS[colorIndex(code) % SYMBOLS.length],
    }));
}

/** Assign to each cluster the color of the class with the largest overlap; each class once. */
export function matchClasses({ clusters, n_clusters: count, classes }) {
  const codes = {};
  const used = new Set();
  const assign = (cluster, code) => {
    codes[cluster] = code;
    used.add(code);
  };
  if (classes?.kind === "class") {
    const overlaps = new Map();
    clusters.forEach((cluster, i) => {
      const key = `${cluster} ${classes.values[i]}`;
      if (cluster >= 0) overlaps.set(key, (overlaps.get(key) ?? 0) + 1);
    });
    for (const [key] of [...overlaps].sort((a, b) => b[1] - a[1])) {
      const [cluster, code] = key.split(" ").map(Number);
      if (codes[cluster] === undefined && !used.has(code)) assign(cluster, code);
    }
  }
  for (let cluster = 0, free = 0; cluster < count; cluster++) {
    if (codes[cluster] !== undefined) continue;
    while (used.has(free)) free++;
    assign(cluster, free);
  }
  return codes;
}

export function traces(x, y, found, { selected, size = 6, opacity = 0.85, sizes = null } = {}) {
  const isMany = x.length > MANY;
  return found.map((group) => ({
    type: "scatter",
    mode: "markers",
    name: group.name,
    x: group.members.map((i) => x[i]),
    y: group.members.map((i) => y[i]),
    customdata: group.members,
    marker: {
      size: sizes && !isMany ? group.members.map((i) => sizes[i]) : size,
      opacity,
      symbol: group.symbol,
      color: group.values ?? group.color,
      ...(group.values ? { colorscale: labelScale() } : {}),
      line: { width: isMany ? 0 : 0.5, color: color("card") },
    },
    selectedpoints: selected?.size ? selectedIndices(group.members, selected) : null,
    selected: { marker: { opacity: 1 } },
    unselected: { marker: { opacity: 0.12, color: color("unselected") } },
    hovertemplate: `%{x:.4~g}, %{y:.4~g}<extra>${escape(group.name)}</extra>`,
  }));
}

const ENTITIES = { "<": "&lt;", ">": "&gt;", "&": "&amp;" };
const escape = (text) => String(text).replace(/[<>&]/g, (character) => ENTITIES[character]);

const selectedIndices = (members, selected) =>
  members.flatMap((member, i) => (selected.has(member) ? [i] : []));

/** Mark the selected points without redrawing the plot. */
export function markSelected(plot, selected) {
  const isMarked = (trace) => Boolean(trace.customdata);
  if (!plot?.data?.some(isMarked)) return;
  const indices = plot.data.flatMap((trace, i) => (isMarked(trace) ? [i] : []));
  const selectedpoints = indices.map((i) =>
    selected.size ? selectedIndices(plot.data[i].customdata, selected) : null,
  );
  Plotly.restyle(plot, { selectedpoints }, indices);
}

export function drawScatter(plot, x, y, found, names, options = {}) {
  const square = options.square ? { scaleanchor: "x", scaleratio: 1 } : {};
  const showlegend = Boolean(options.legend) && found.length > 1;
  const settings = {
    dragmode: options.rotates ? false : "select",
    xaxis: { title: { text: names[0], standoff: 6 }, ...options.xaxis },
    yaxis: { title: { text: names[1], standoff: 6 }, ...square, ...options.yaxis },
    showlegend,
    legend: {
      orientation: "h",
      y: 1.02,
      yanchor: "bottom",
      x: 0,
      font: { size: 11 },
      itemclick: false,
      itemdoubleclick: false,
    },
    margin: options.margin ?? { l: 44, r: 10, t: showlegend ? 26 : 8, b: 38 },
    shapes: options.shapes ?? [],
    annotations: options.annotations ?? [],
    selections: [],
  };
  return Plotly.react(plot, traces(x, y, found, options), layout(settings), CONFIG);
}
