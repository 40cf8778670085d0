// Points: one trace per class, so that shape and colour both tell it; brushing is linked.

import { palette, colour, layout, SYMBOLS, isDark, CONFIG } from "./theme.js";

/** Groups of points: {name, colour, symbol, members}. */
export function groups(points, by) {
  const colours = palette();
  if (by === "cluster" || !points.classes) {
    const tones = likeClasses(points);
    return byCode(points.clusters, (code) => (code < 0 ? "in no cluster" : `cluster ${code + 1}`), (code) => tones[code] ?? code);
  }
  if (points.classes.kind === "number") {
    return [{ name: "label", values: points.classes.values, symbol: "circle", members: points.rows.map((_, i) => i) }];
  }
  return byCode(points.classes.values, (code) => points.classes.names[code]);

  function byCode(codes, name, tone = (code) => code) {
    const found = new Map();
    codes.forEach((code, i) => (found.get(code) ?? found.set(code, []).get(code)).push(i));
    return [...found.keys()].sort((a, b) => a - b).map((code) => ({
      code, name: name(code), members: found.get(code),
      colour: code < 0 ? colour("left") : colours[tone(code) % colours.length],
      symbol: code < 0 ? "circle-open" : SYMBOLS[tone(code) % SYMBOLS.length],
    }));
  }
}

/** Clusters take the colour of the class that they share most rows with, each class once. */
function likeClasses({ clusters, n_clusters: count, classes }) {
  const tones = {}, used = new Set(), pairs = new Map();
  if (classes?.kind === "class") {
    clusters.forEach((cluster, i) => {
      const key = `${cluster} ${classes.values[i]}`;
      if (cluster >= 0) pairs.set(key, (pairs.get(key) ?? 0) + 1);
    });
    for (const [key] of [...pairs].sort((a, b) => b[1] - a[1])) {
      const [cluster, one] = key.split(" ").map(Number);
      if (tones[cluster] === undefined && !used.has(one)) used.add(tones[cluster] = one);
    }
  }
  for (let cluster = 0, free = 0; cluster < count; cluster++) {
    if (tones[cluster] !== undefined) continue;
    while (used.has(free)) free++;
    used.add(tones[cluster] = free);
  }
  return tones;
}

const MANY = 400; // points: beyond, outlines and sizes of their own cost more than they show

export function traces(x, y, found, { selected, size = 6, opacity = 0.85, axes = {}, sizes = null } = {}) {
  const many = x.length > MANY;
  return found.map((group) => ({
    type: "scatter", mode: "markers", name: group.name, ...axes,
    x: group.members.map((i) => x[i]), y: group.members.map((i) => y[i]),
    customdata: group.members,
    marker: {
      size: sizes && !many ? group.members.map((i) => sizes[i]) : size, opacity, symbol: group.symbol,
      color: group.values ? group.values : group.colour,
      ...(group.values ? { colorscale: isDark() ? "Viridis" : [[0, "#0072b2"], [0.5, "#8a8f96"], [1, "#d55e00"]] } : {}),
      line: { width: many ? 0 : 0.5, color: colour("card") },
    },
    selectedpoints: selected?.size ? marked(group.members, selected) : null,
    selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.12, color: colour("left") } },
    hovertemplate: `%{x:.4~g}, %{y:.4~g}<extra>${escape(group.name)}</extra>`,
  }));
}

const escape = (text) => String(text).replace(/[<>&]/g, (c) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[c]);
const marked = (members, selected) => members.map((i, at) => (selected.has(i) ? at : -1)).filter((at) => at >= 0);

/** Redraw which points are selected, and nothing else. */
export function mark(plot, selected) {
  if (!plot?.data?.some((trace) => trace.customdata)) return;
  const places = [], which = [];
  plot.data.forEach((trace, place) => {
    if (!trace.customdata) return;
    places.push(place);
    which.push(selected.size ? marked(trace.customdata, selected) : null);
  });
  Plotly.restyle(plot, { selectedpoints: which }, places);
}

export function drawScatter(plot, x, y, found, names, options = {}) {
  const square = options.square ? { scaleanchor: "x", scaleratio: 1 } : {};
  const labels = Boolean(options.legend) && found.length > 1;
  return Plotly.react(plot, traces(x, y, found, options), layout({
    dragmode: options.turns ? false : "select",
    xaxis: { title: { text: names[0], standoff: 6 }, ...options.xaxis },
    yaxis: { title: { text: names[1], standoff: 6 }, ...square, ...options.yaxis },
    showlegend: labels, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 }, itemclick: false, itemdoubleclick: false },
    margin: options.margin ?? { l: 44, r: 10, t: labels ? 26 : 8, b: 38 },
    shapes: options.shapes ?? [], annotations: options.annotations ?? [], selections: [],
  }), CONFIG);
}
