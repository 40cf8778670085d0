// How each view is drawn from its numbers.

import { plotOf, say, reason, numbers } from "./cards.js";
import { colour, layout, palette, sequential, diverging, CONFIG } from "./theme.js";
import { groups, drawScatter, traces } from "./scatter.js";
import { project, sizesOf, axes } from "./turning.js";
import { number, percent, plural, place } from "./words.js";

/** Draw one card. `all`: {summary, views, state, selected, toggle}. */
export function draw(id, all) {
  const view = all.views[{ eca: "embedding", pca: "embedding" }[id] ?? id];
  reason(id, view?.reason);
  if (view?.reason) return null;
  return DRAW[id](plotOf(id), all, view);
}

function colouring(all) {
  return groups(all.views.points, all.state.colour);
}

const DRAW = {
  data(plot, all, view) {
    say("data", `${plural(all.summary.shown, "row")} shown${view.scaled ? ", in standard deviations" : ""}. Drag over points to select them everywhere.`);
    return drawScatter(plot, view.x, view.y, colouring(all), view.names, { legend: true, selected: all.selected, square: all.summary.is_planar });
  },

  clusters(plot, all, view) {
    const { x, y, names } = all.views.data;
    const found = groups(all.views.points, "cluster");
    const agrees = view.agreement === null ? "" : ` Adjusted Rand index with the classes: ${view.agreement.toFixed(2)}.`;
    say("clusters", `${view.sizes.length} clusters of ${view.sizes.map((n) => n.toLocaleString("en")).join(", ")} rows${view.lost ? `, ${view.lost} in none` : ""}.${agrees}`);
    chips("clusters", found.map((group) => ({ text: group.name, colour: group.colour, press: () => all.select(group.members) })));
    return drawScatter(plot, x, y, found, names, { selected: all.selected, square: all.summary.is_planar });
  },

  spectrum(plot, all, view) {
    const kept = new Set(view.kept);
    const fill = view.places.map((one) => (kept.has(one) ? colour("kept") : colour("left")));
    const names = view.places.map(String);
    const bar = (values, axis, what) => ({
      type: "bar", x: names, y: values, xaxis: "x", yaxis: axis, marker: { color: fill }, customdata: view.places,
      hovertemplate: `component %{x}: %{y:.3p} of ${what}<extra></extra>`,
    });
    const by = view.order === "entropy" ? "by entropy term" : "by eigenvalue";
    say("spectrum", `Kept: ${all.summary.places.map(place).join(", ")}; they hold ${percent(all.summary.share)} of the potential. Click a bar to change that.`);
    chips("spectrum", view.places.map((one) => ({ text: String(one), pressed: kept.has(one), label: `Component ${one}`, press: () => all.toggle(one, view.kept) })));
    numbers("spectrum", ["component", "eigenvalue", "of the trace", "entropy term", "of V", "kept"],
      view.places.map((one, i) => [one, number(view.eigenvalues[i]), percent(view.variance[i]), number(view.terms[i]), percent(view.entropy[i]), kept.has(one) ? "yes" : ""]));
    return Plotly.react(plot, [bar(view.variance, "y", "the trace"), bar(view.entropy, "y2", "V")], layout({
      hovermode: "x", bargap: 0.25,
      xaxis: { title: { text: `component, ${by}`, standoff: 4 }, type: "category", tickangle: 0, nticks: 12, anchor: "y2", fixedrange: true },
      yaxis: { domain: [0.55, 1], tickformat: ".0%", title: { text: "λ / trace", standoff: 4 }, nticks: 4, fixedrange: true },
      yaxis2: { domain: [0, 0.45], tickformat: ".0%", title: { text: "ψ / V", standoff: 4 }, nticks: 4, fixedrange: true },
    }), CONFIG);
  },

  eca: (plot, all, view) => embedding("eca", plot, all, view.eca, view.places.map((one) => (one === null ? "component" : `component ${one}`))),

  pca(plot, all, view) {
    const some = view.pca_shown_only ? " (of the rows shown)" : "";
    return embedding("pca", plot, all, view.pca, [1, 2, 3].map((i) => `component ${i}`), some);
  },

  density(plot, all, view) {
    const { x, y, names } = all.views.data;
    const what = { selected: `the ${plural(all.summary.places.length, "selected component")}`, "kronmal-tarter": "Kronmal and Tarter’s terms", all: "all terms: Parzen’s estimate" }[all.state.terms];
    if (view.at_points) {
      say("density", `Density of each row from ${what}, relative to the highest.`);
      const found = [{ name: "density", values: view.at_points, symbol: "circle", members: x.map((_, i) => i) }];
      const made = traces(x, y, found, { selected: all.selected });
      made[0].marker.colorscale = sequential().map(([at, tone], i) => (i ? [at, tone] : [0, colour("left")]));
      made[0].marker.colorbar = { thickness: 8, outlinewidth: 0, len: 0.9 };
      return Plotly.react(plot, made, layout({ dragmode: "select", selections: [], xaxis: { title: { text: names[0] } }, yaxis: { title: { text: names[1] } } }), CONFIG);
    }
    say("density", `Density from ${what}: drop components to see what they hold.`);
    const contour = { type: "contour", x: view.x, y: view.y, z: view.z, colorscale: sequential(), showscale: false, ncontours: 14, line: { width: 0.4, color: colour("line") }, hovertemplate: "%{x:.3~g}, %{y:.3~g}: %{z:.3~g}<extra></extra>" };
    const dots = traces(x, y, [{ name: "rows", colour: colour("kept"), symbol: "circle", members: x.map((_, i) => i) }], { selected: all.selected, size: 3, opacity: 0.5 });
    dots[0].hoverinfo = "skip";
    delete dots[0].hovertemplate;
    return Plotly.react(plot, [contour, ...dots], layout({
      dragmode: "select", selections: [], xaxis: { title: { text: names[0] }, range: ends(view.x), showgrid: false, zeroline: false, constrain: "domain" },
      yaxis: { title: { text: names[1] }, range: ends(view.y), showgrid: false, zeroline: false, scaleanchor: "x", constrain: "domain" },
    }), CONFIG);
  },

  gram(plot, all, view) {
    const unpack = (text) => {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), n = view.size, span = (view.high - view.low) / 255;
      return Array.from({ length: n }, (_, i) => Array.from(bytes.subarray(i * n, (i + 1) * n), (b) => view.low + b * span));
    };
    const heat = (z, xaxis, yaxis) => ({ type: "heatmap", z, xaxis, yaxis, zmin: view.low, zmax: view.high, colorscale: sequential(), showscale: false, hovertemplate: "rows %{y}, %{x}: %{z:.3f}<extra></extra>" });
    const codes = view.rows.map((i) => all.views.points.clusters[i]);
    const cuts = codes.flatMap((code, i) => (i && code !== codes[i - 1] ? [i - 0.5] : []));
    const lines = ["", "2"].flatMap((axis) => cuts.flatMap((at) => [
      { type: "line", xref: `x${axis}`, yref: `y${axis}`, x0: at, x1: at, y0: -0.5, y1: view.size - 0.5, line: { color: colour("kept"), width: 1 } },
      { type: "line", xref: `x${axis}`, yref: `y${axis}`, y0: at, y1: at, x0: -0.5, x1: view.size - 0.5, line: { color: colour("kept"), width: 1 } },
    ]));
    const ticks = ["", "2"].map((axis) => ({
      type: "scatter", mode: "markers", xaxis: `x${axis}`, yaxis: `y${axis}`, hoverinfo: "skip", name: "selected",
      y: view.rows.flatMap((i, at) => (all.selected.has(i) ? [at] : [])), x: view.rows.flatMap((i) => (all.selected.has(i) ? [-0.03 * view.size] : [])),
      marker: { symbol: "triangle-right", size: 7, color: colour("kept") },
    }));
    say("gram", `${view.size} rows ordered by cluster; the selected components leave a relative error of ${percent(view.error)} in this part of K.`);
    const axis = { showticklabels: false, ticks: "", showgrid: false, zeroline: false, constrain: "domain", fixedrange: true, range: [-0.06 * view.size, view.size] };
    return Plotly.react(plot, [heat(unpack(view.gram), "x", "y"), heat(unpack(view.reconstruction), "x2", "y2"), ...ticks], layout({
      margin: { l: 8, r: 8, t: 26, b: 8 }, shapes: lines,
      xaxis: { ...axis, domain: [0, 0.485], side: "top", title: { text: "K", standoff: 4 } }, yaxis: { ...axis, range: [view.size, -1], scaleanchor: "x" },
      xaxis2: { ...axis, domain: [0.515, 1], anchor: "y2", side: "top", title: { text: "from the selected components", standoff: 4 } }, yaxis2: { ...axis, range: [view.size, -1], scaleanchor: "x2", anchor: "x2" },
    }), CONFIG);
  },

  eigenfunctions(plot, all, view) {
    const count = view.z.length, width = 1 / count, made = [], axesOf = {}, annotations = [];
    const columns = all.views.data;
    view.z.forEach((z, i) => {
      const suffix = i ? String(i + 1) : "", reach = Math.max(...z.flat().map(Math.abs));
      made.push({ type: "contour", x: view.x, y: view.y, z, xaxis: `x${suffix}`, yaxis: `y${suffix}`, zmin: -reach, zmax: reach, autocontour: false, contours: { start: (-15 * reach) / 16, end: (15 * reach) / 16, size: reach / 8 }, colorscale: diverging(), showscale: false, line: { width: 0.4, color: colour("line") }, hovertemplate: "%{x:.3~g}, %{y:.3~g}: %{z:.3~g}<extra></extra>" });
      if (all.selected.size && columns) {
        const chosen = [...all.selected];
        made.push({ type: "scatter", mode: "markers", xaxis: `x${suffix}`, yaxis: `y${suffix}`, x: chosen.map((j) => columns.x[j]), y: chosen.map((j) => columns.y[j]), marker: { size: 4, color: colour("ink") }, hoverinfo: "skip" });
      }
      const domain = [i * width + 0.008, (i + 1) * width - 0.008];
      axesOf[`xaxis${suffix}`] = { domain, anchor: `y${suffix}`, showticklabels: false, showgrid: false, zeroline: false, range: ends(view.x), constrain: "domain", fixedrange: true };
      axesOf[`yaxis${suffix}`] = { anchor: `x${suffix}`, scaleanchor: `x${suffix}`, showticklabels: false, showgrid: false, zeroline: false, range: ends(view.y), constrain: "domain", fixedrange: true };
      annotations.push({ text: view.places[i] === null ? "φ" : `φ<sub>${view.places[i]}</sub>`, x: (domain[0] + domain[1]) / 2, y: 1, xref: "paper", yref: "paper", yanchor: "bottom", showarrow: false, font: { size: 13 } });
    });
    say("eigenfunctions", `Components ${view.places.map(place).join(", ")} as functions of the plane: blue below zero, orange above.`);
    return Plotly.react(plot, made, layout({ margin: { l: 6, r: 6, t: 24, b: 6 }, annotations, ...axesOf }), CONFIG);
  },

  path(plot, all, view) {
    const marks = all.summary.marks, now = all.summary.bandwidth, tones = palette();
    const dots = view.bandwidth.flatMap((width, i) => view.components[i].map((one) => [width, one]));
    const vertical = (at, tone, dash) => ({ type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1, line: { color: tone, width: dash ? 1 : 2, dash } });
    say("path", `Cost of ${view.clusters} clusters, and which components are kept, by bandwidth. The sweep takes ${number(view.optimum)}.`);
    numbers("path", ["σ", "cost per row", "stability", "components"], view.bandwidth.map((width, i) => [number(width), number(view.cost[i]), number(view.stability[i], 2), view.components[i].join(", ")]));
    return Plotly.react(plot, [
      { type: "scatter", mode: "lines+markers", x: view.bandwidth, y: view.cost, line: { color: tones[0], width: 2 }, marker: { size: 4 }, hovertemplate: "σ = %{x:.3~g}: cost %{y:.3f}<extra></extra>" },
      { type: "scatter", mode: "markers", x: dots.map((d) => d[0]), y: dots.map((d) => d[1]), yaxis: "y2", marker: { size: 5, color: colour("kept"), symbol: "square" }, hovertemplate: "σ = %{x:.3~g}: component %{y}<extra></extra>" },
    ], layout({
      xaxis: { type: "log", title: { text: all.summary.is_numeric ? "bandwidth σ" : "bandwidth factor", standoff: 4 }, anchor: "y2", fixedrange: true, tickvals: ticksOf(view.bandwidth) },
      yaxis: { domain: [0.52, 1], title: { text: "cost", standoff: 4 }, nticks: 4, fixedrange: true },
      yaxis2: { domain: [0, 0.44], title: { text: "kept", standoff: 4 }, type: "log", tickvals: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], fixedrange: true },
      shapes: [
        ...(marks.silverman === undefined ? [] : [{ type: "rect", x0: marks.fraction_low, x1: marks.fraction_high, yref: "paper", y0: 0, y1: 1, fillcolor: colour("band"), opacity: 0.45, line: { width: 0 }, layer: "below" }, vertical(marks.silverman, colour("soft"), "dot")]),
        vertical(view.optimum, colour("accent"), "dash"), vertical(now, colour("ink")),
      ],
    }), CONFIG);
  },
};

/** 1, 2 and 5 times powers of ten. */
function ticksOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)], ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...[1, 2, 5].map((one) => one * 10 ** power).filter((one) => one >= 0.9 * low && one <= 1.1 * high));
  }
  return ticks;
}

const ends = (values) => [values[0], values[values.length - 1]];

function embedding(id, plot, all, columns, names, more = "") {
  const deep = all.state.dimensions === "3" && columns.length > 2;
  const brush = modeButton(id, deep, all.redraw);
  plot.classList.toggle("turning", deep && !brush);
  plot.tabIndex = deep ? 0 : -1;
  plot.setAttribute("role", deep ? "application" : "img");
  const found = colouring(all);
  const words = { eca: "Groups that hardly touch lie along different rays", pca: "For comparison: components by variance" }[id];
  const centred = id === "pca" ? (all.state.center === "1" ? ", centred" : ", not centred") : "";
  const titles = { entropy: "Kernel ECA", variance: "Leading components" };
  if (id === "eca") document.getElementById("title-eca").textContent = all.state.picks.length ? "Picked components" : titles[all.state.order];
  say(id, `${words}${centred}${more}.${deep ? (brush ? " Drag over points to select them." : " Drag or use arrow keys to turn.") : ""}`);
  if (deep) {
    const turn = all.turn();
    const { across, upward, depth } = project(columns, turn);
    const { shapes, annotations, reach } = axes(columns, turn, names.map((name) => name.replace("component ", "")), colour("soft"));
    const range = [-0.85 * reach, 0.85 * reach];
    const hidden = { range, showticklabels: false, showgrid: false, zeroline: false, showline: false, ticks: "", fixedrange: true };
    return drawScatter(plot, across, upward, found, ["", ""], { selected: all.selected, sizes: sizesOf(depth), shapes, annotations, square: true, turns: !brush, xaxis: hidden, yaxis: hidden, margin: { l: 4, r: 4, t: 4, b: 4 } });
  }
  const ys = columns[1] ?? columns[0].map(() => 0);
  return drawScatter(plot, columns[0], ys, found, [names[0], names[1] ?? ""], { selected: all.selected });
}

/** In three dimensions a drag turns, unless this button makes it select. */
function modeButton(id, deep, redraw) {
  const header = document.querySelector(`#card-${id} header`);
  let button = header.querySelector(".mode");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "mode";
    button.textContent = "Select";
    button.title = "A drag selects points instead of turning";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      redraw([id]);
    });
    header.querySelector("h2").after(button);
  }
  button.hidden = !deep;
  return button.getAttribute("aria-pressed") === "true";
}

/** Buttons under a card, which do by keyboard what clicks on the plot do. */
function chips(id, wanted) {
  const under = document.getElementById(`under-${id}`);
  let box = under.querySelector(".chips");
  if (!box) {
    box = document.createElement("div");
    box.className = "chips";
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", id === "spectrum" ? "Components, pressed where kept" : "Select the rows of a cluster");
    under.prepend(box);
  }
  const had = document.activeElement?.parentElement === box ? [...box.children].indexOf(document.activeElement) : -1;
  box.replaceChildren(...wanted.map((one) => {
    const button = document.createElement("button");
    button.type = "button";
    if (one.colour) {
      const dot = document.createElement("i");
      dot.style.background = one.colour;
      button.append(dot);
    }
    button.append(one.text);
    if (one.label) button.setAttribute("aria-label", one.label);
    if (one.pressed !== undefined) button.setAttribute("aria-pressed", String(one.pressed));
    button.addEventListener("click", one.press);
    return button;
  }));
  if (had >= 0) box.children[Math.min(had, box.children.length - 1)]?.focus();
}
