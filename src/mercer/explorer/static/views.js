// Draw the cards of scatter plots and densities, and dispatch to the other figures.

import { plotOf, setCaption, setChips, setReason } from "./cards.js";
import { button, byId } from "./dom.js";
import { drawEigenfunctions, drawGram } from "./figures_of_functions.js";
import { drawPath, drawSpectrum } from "./figures_of_spectrum.js";
import { integer, number, plural } from "./format.js";
import { axes, project, sizesOf } from "./rotate3d.js";
import { drawScatter, groups, traces } from "./scatter.js";
import { color, CONFIG, layout, sequential } from "./theme.js";

/**
 * Draw one card, or show the reason why it has no plot.
 * `page`: {summary, views, state, selected, rotation, select, toggle, redraw}.
 */
export function draw(id, page) {
  const view = page.views[{ eca: "embedding", pca: "embedding" }[id] ?? id];
  setReason(id, view?.reason);
  if (view?.reason) return null;
  return FIGURES[id](plotOf(id), page, view);
}

const FIGURES = {
  data: drawData,
  spectrum: drawSpectrum,
  path: drawPath,
  eca: drawEca,
  pca: drawPca,
  clusters: drawClusters,
  density: drawDensity,
  unusual: drawUnusual,
  gram: drawGram,
  eigenfunctions: drawEigenfunctions,
};

function drawData(plot, { summary, views, state, selected }, view) {
  const unit = view.scaled ? ", in standard deviations" : "";
  setCaption(
    "data",
    `${plural(summary.shown, "row")} shown${unit}. Drag over points to select them in all views.`,
  );
  return drawScatter(plot, view.x, view.y, groups(views.points, state.color), view.names, {
    legend: true,
    selected,
    square: summary.is_planar,
  });
}

function drawClusters(plot, { summary, views, selected, select }, view) {
  const { x, y, names } = views.data;
  const found = groups(views.points, "cluster");
  const sizes = view.sizes.map(integer).join(", ");
  const unassigned = view.unassigned ? `, ${view.unassigned} unassigned` : "";
  const agreement =
    view.agreement === null
      ? ""
      : ` Adjusted Rand index with the classes: ${view.agreement.toFixed(2)}.`;
  const kernel = view.kernel ? ` Spectral clustering: ${view.kernel}.` : "";
  setCaption(
    "clusters",
    `${plural(view.sizes.length, "cluster")} of ${sizes} rows${unassigned}.${agreement}${kernel}`,
  );
  setChips(
    "clusters",
    "Select the rows of a cluster",
    found.map((group) => ({
      text: group.name,
      color: group.color,
      press: () => select(group.members),
    })),
  );
  return drawScatter(plot, x, y, found, names, { selected, square: summary.is_planar });
}

function drawUnusual(plot, { summary, views, selected, select }, view) {
  const { x, y, names } = views.data;
  const { rows } = views.points;
  const { members, p_values: p, cells } = view;
  setCaption(
    "unusual",
    `The ${plural(members.length, "row")} that differ most from all others, with p-values, and ` +
      "what was expected in their cells. The lowest p-value of many rows is always small.",
  );
  setChips(
    "unusual",
    "Select an unusual row",
    members.map((member, i) => ({
      text: `row ${rows[member] + 1}, p = ${number(p[i])}: ${cells[i].join("; ")}`,
      isPressed: selected.has(member),
      press: () => select([member]),
    })),
  );
  const others = rows.map((_, i) => i).filter((i) => !members.includes(i));
  const found = [
    { name: "other rows", color: color("unselected"), symbol: "circle", members: others },
    { name: "unusual rows", color: color("selected"), symbol: "diamond", members },
  ];
  return drawScatter(plot, x, y, found, names, {
    legend: true,
    selected,
    square: summary.is_planar,
  });
}

// --- embeddings --------------------------------------------------------------------------------

function drawEca(plot, page, view) {
  const titles = { entropy: "Kernel ECA", variance: "Leading components" };
  byId("title-eca").textContent = page.state.picks.length
    ? "Picked components"
    : titles[page.state.order];
  return drawEmbedding("eca", plot, page, {
    columns: view.eca,
    names: view.ranks.map((rank) => rank ?? "?"),
    caption: "Well separated clusters lie along different directions",
  });
}

function drawPca(plot, page, view) {
  const centering = page.state.center === "1" ? "centered" : "not centered";
  const subset = view.pca_shown_only ? ", fitted to the shown rows" : "";
  return drawEmbedding("pca", plot, page, {
    columns: view.pca,
    names: [1, 2, 3],
    caption: `For comparison: components by variance, ${centering}${subset}`,
  });
}

function drawEmbedding(id, plot, page, { columns, names, caption }) {
  const { selected, views, state } = page;
  const is3d = state.dimensions === "3" && columns.length > 2;
  const isBrushing = brushButton(id, is3d, page.redraw);
  const rotates = is3d && !isBrushing;
  plot.classList.toggle("rotatable", rotates);
  plot.tabIndex = is3d ? 0 : -1;
  plot.setAttribute("role", is3d ? "application" : "img");
  const hint = rotates ? " Drag or use the arrow keys to rotate." : " Drag to select points.";
  setCaption(id, `${caption}.${is3d ? hint : ""}`);
  const found = groups(views.points, state.color);
  if (is3d) return drawScatter3d(plot, columns, names.map(String), found, page, rotates);
  const second = columns[1] ?? columns[0].map(() => 0);
  const labels = [0, 1].map((i) => (columns[i] ? `component ${names[i]}` : ""));
  return drawScatter(plot, columns[0], second, found, labels, { selected });
}

function drawScatter3d(plot, columns, names, found, { selected, rotation }, rotates) {
  const { across, upward, depth } = project(columns, rotation);
  const { shapes, annotations, reach } = axes(columns, rotation, names, color("soft"));
  const hidden = {
    range: [-1.05 * reach, 1.05 * reach], // no rotation cuts points off
    showticklabels: false,
    showgrid: false,
    zeroline: false,
    showline: false,
    ticks: "",
    fixedrange: true,
  };
  return drawScatter(plot, across, upward, found, ["", ""], {
    selected,
    sizes: sizesOf(depth),
    shapes,
    annotations,
    square: true,
    rotates,
    xaxis: hidden,
    yaxis: hidden,
    margin: { l: 4, r: 4, t: 4, b: 4 },
  });
}

/** In three dimensions a drag rotates the plot, unless this button is pressed. */
function brushButton(id, is3d, redraw) {
  const header = document.querySelector(`#card-${id} header`);
  let made = header.querySelector(".mode");
  if (!made) {
    made = button("Select", {
      class: "mode",
      title: "Drag to select points instead of rotating",
      "aria-pressed": "false",
    });
    made.addEventListener("click", () => {
      made.setAttribute("aria-pressed", String(made.getAttribute("aria-pressed") !== "true"));
      redraw([id]);
    });
    header.querySelector("h2").after(made);
  }
  made.hidden = !is3d;
  return made.getAttribute("aria-pressed") === "true";
}

// --- densities ---------------------------------------------------------------------------------

function drawDensity(plot, page, view) {
  const terms = {
    selected: `the ${plural(page.summary.ranks.length, "selected component")}`,
    "kronmal-tarter": "the terms selected by Kronmal and Tarter’s rule",
    all: "all terms (Parzen estimate)",
  }[page.state.terms];
  return view.at_points
    ? drawDensityAtPoints(plot, page, view, terms)
    : drawDensityContours(plot, page, view, terms);
}

function drawDensityAtPoints(plot, { views, selected }, view, terms) {
  const { x, y, names } = views.data;
  setCaption("density", `Density of each row from ${terms}, relative to the maximum.`);
  const members = x.map((_, i) => i);
  const found = [{ name: "density", values: view.at_points, symbol: "circle", members }];
  const made = traces(x, y, found, { selected });
  const [, ...colors] = sequential();
  made[0].marker.colorscale = [[0, color("unselected")], ...colors];
  made[0].marker.colorbar = { thickness: 8, outlinewidth: 0, len: 0.9 };
  const settings = {
    dragmode: "select",
    selections: [],
    xaxis: { title: { text: names[0] } },
    yaxis: { title: { text: names[1] } },
  };
  return Plotly.react(plot, made, layout(settings), CONFIG);
}

function drawDensityContours(plot, { views, selected }, view, terms) {
  const { x, y, names } = views.data;
  setCaption("density", `Density from ${terms}. Remove components to see what they contribute.`);
  const contour = {
    type: "contour",
    x: view.x,
    y: view.y,
    z: view.z,
    colorscale: sequential(),
    showscale: false,
    ncontours: 14,
    line: { width: 0.4, color: color("line") },
    hovertemplate: "%{x:.3~g}, %{y:.3~g}: %{z:.3~g}<extra></extra>",
  };
  const members = x.map((_, i) => i);
  const found = [{ name: "rows", color: color("selected"), symbol: "circle", members }];
  const dots = traces(x, y, found, { selected, size: 3, opacity: 0.5 });
  dots[0].hoverinfo = "skip";
  delete dots[0].hovertemplate;
  const axis = { showgrid: false, zeroline: false, constrain: "domain" };
  const settings = {
    dragmode: "select",
    selections: [],
    xaxis: { ...axis, title: { text: names[0] }, range: [view.x[0], view.x.at(-1)] },
    yaxis: {
      ...axis,
      title: { text: names[1] },
      range: [view.y[0], view.y.at(-1)],
      scaleanchor: "x",
    },
  };
  return Plotly.react(plot, [contour, ...dots], layout(settings), CONFIG);
}
