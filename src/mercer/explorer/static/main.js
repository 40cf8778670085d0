// Start the page and connect its parts: the state in the address, the views of the server and the
// cards.

import { json, Newest, onConnectionLost, readToken, RequestError } from "./api.js";
import { buildCards, cardOf, CARDS, isVisible, plotOf } from "./cards.js";
import { showState, showSummary, startControls } from "./controls.js";
import { CARD_DEPENDENCIES, isSame, reuseUnchanged, VIEW_PARAMETERS } from "./dependencies.js";
import { byId, element } from "./dom.js";
import { startExport } from "./export.js";
import { integer, number, percent, plural, rankList } from "./format.js";
import { makeRotatable } from "./rotate3d.js";
import { getSelected, listen, select, startSelection } from "./selection.js";
import { markOptimum, startSlider, updateSlider } from "./slider.js";
import { DEFAULTS, onChange, set, state, toQuery } from "./state.js";
import { setPalettes, startTheme } from "./theme.js";
import { draw } from "./views.js";

const ALL_CARDS = CARDS.map((card) => card.id);
const COMPUTED = Object.keys(DEFAULTS).filter((name) =>
  Object.values(VIEW_PARAMETERS).some((names) => names.includes(name)),
);
const grid = byId("grid");
const views = {};
const queries = {}; // the query that each view was computed for
const drawn = new Map(); // the dependencies that each card was drawn from
let summary = null;
let rotation = parseRotation();

function parseRotation() {
  return state.rotation.split(",").map(Number);
}

// --- requests ----------------------------------------------------------------------------------

const queryOf = (name) => toQuery(state, VIEW_PARAMETERS[name]);
const isCurrent = (name) => queries[name] === queryOf(name);

function neededViews() {
  const visible = CARDS.filter((card) => card.id !== "path" && isVisible(card.id));
  return [...new Set(["points", ...visible.flatMap((card) => card.needs)])];
}

const viewRequests = new Newest(async () => {
  const names = neededViews().filter((name) => !isCurrent(name));
  if (names.length === 0) return finish();
  const requested = Object.fromEntries(names.map((name) => [name, queryOf(name)]));
  grid.classList.add("busy");
  showError(null); // an error that another request reports meanwhile stays
  try {
    const found = await json(`/api/views?${toQuery(state, COMPUTED)}&show=${names.join(",")}`);
    return () => {
      // The next request is already sent: the server computes while this response is drawn.
      receive(found, requested);
      finish();
    };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    showError(error.message);
  } finally {
    grid.classList.remove("busy");
  }
  return finish();
});

function receive(found, requested) {
  const { points } = views;
  Object.assign(views, found.views);
  Object.assign(queries, requested);
  if (found.views.points) views.points = reuseUnchanged(points, found.views.points);
  summary = found.summary;
  if (getSelected().size && views.points.rows !== points?.rows) select([]);
  updateSlider(summary);
  showSummary(summary);
  showFacts();
  drawCards(ALL_CARDS);
}

// The sweep takes longer than the other views, so it has its own requests.
const pathRequests = new Newest(async () => {
  const query = queryOf("path");
  if (!isCurrent("path")) {
    setWaiting(true);
    markOptimum(null);
    try {
      views.path = (await json(`/api/views?${query}&show=path`)).views.path;
      queries.path = query;
      if (views.path.optimum && isCurrent("path")) markOptimum(views.path.optimum);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      views.path = { reason: error.message };
    }
    setWaiting(false);
  }
  drawCards(["path"]);
});

function setWaiting(isWaiting) {
  plotOf("path").querySelector(".waiting")?.remove();
  if (!isWaiting) return;
  plotOf("path").append(element("p", { class: "waiting", text: "Sweeping over bandwidths …" }));
}

function finish() {
  const isSettled = neededViews().every(isCurrent);
  grid.setAttribute("aria-busy", String(!isSettled));
  if (isSettled) grid.dataset.settled = `?${toQuery(state, COMPUTED)}`;
}

function request() {
  grid.dataset.settled = "";
  viewRequests.ask();
  if (isVisible("path")) pathRequests.ask();
}

// --- figures -----------------------------------------------------------------------------------

function drawCards(ids, { force = false } = {}) {
  if (!summary) return;
  const redraw = (some) => drawCards(some, { force: true });
  const selected = getSelected();
  const page = { summary, views, state, selected, rotation, select, toggle, redraw };
  for (const id of ids) {
    if (!isVisible(id) || cardOf(id).needs.some((name) => !views[name])) continue;
    const dependencies = CARD_DEPENDENCIES[id](page);
    if (!force && isSame(drawn.get(id), dependencies)) continue;
    drawn.set(id, dependencies);
    const plot = plotOf(id);
    const isNew = !plot.classList.contains("js-plotly-plot");
    if (draw(id, page) && isNew) attachEvents(id, plot);
  }
}

function attachEvents(id, plot) {
  if (cardOf(id).brushes) listen(plot);
  const clicked = {
    spectrum: (x) => toggle(Number(x)),
    path: (x) => set({ bandwidth: String(x) }),
  };
  if (clicked[id]) plot.on("plotly_click", (event) => clicked[id](event.points[0].x));
}

/** Add a component to the selected ones, or remove it. */
function toggle(rank) {
  const { selected } = views.spectrum;
  const picks = selected.includes(rank)
    ? selected.filter((other) => other !== rank)
    : [...selected, rank].sort((a, b) => a - b);
  if (picks.length === 0) announce("At least one component must be selected.");
  else set({ picks });
}

function showFacts() {
  const hasClusters = views.clusters?.sizes && queries.clusters === queries.points;
  const clusters = hasClusters ? views.clusters : null;
  const fraction = percent(summary.potential_fraction);
  const ranks = rankList(summary.ranks);
  const facts = [
    ["table", summary.name],
    ["rows", integer(summary.rows)],
  ];
  if (summary.bandwidth !== null) {
    const name = summary.is_numeric ? "bandwidth σ" : "bandwidth multiplier";
    facts.push([name, number(summary.bandwidth)]);
  }
  facts.push(["selected components", ranks], ["of the potential V", fraction]);
  if (clusters && clusters.agreement !== null) {
    facts.push(["adjusted Rand index", clusters.agreement.toFixed(2)]);
  }
  const boxes = facts.map(([term, text]) =>
    element("div", {}, element("dt", { text: term }), element("dd", { text })),
  );
  byId("facts").replaceChildren(...boxes);
  document.title = `${summary.name} – mercer explorer`;
  const bandwidth = summary.bandwidth === null ? "" : ` at bandwidth ${number(summary.bandwidth)}`;
  const sizes = clusters
    ? ` ${plural(clusters.sizes.length, "cluster")} of ${clusters.sizes.join(", ")} rows.`
    : "";
  announce(
    `Components ${ranks} hold ${fraction} of the information potential${bandwidth}.${sizes}`,
  );
}

// --- messages ----------------------------------------------------------------------------------

let announcing = 0;

/** Announce a text to screen readers, with a delay so that a moving slider does not repeat it. */
function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("status").textContent = text;
  }, 600);
}

function showError(message) {
  byId("error").hidden = !message;
  byId("error-text").textContent = message ?? "";
}

function startConnection() {
  let wake = () => {};
  byId("retry").addEventListener("click", () => wake());
  onConnectionLost((seconds) => {
    byId("connection").hidden = seconds === 0;
    if (seconds === 0) return undefined;
    byId("connection-text").textContent = "The connection to the server is lost. Retrying …";
    return new Promise((done) => {
      wake = done;
      setTimeout(done, 1000 * seconds);
    });
  });
}

// --- start -------------------------------------------------------------------------------------

function followState(changes) {
  const names = Object.keys(changes);
  if (names.includes("rotation")) rotation = parseRotation();
  showState();
  if (names.some((name) => COMPUTED.includes(name))) request();
  else drawCards(ALL_CARDS);
}

function startPlots() {
  buildCards(grid, () => {
    request();
    drawCards(ALL_CARDS);
  });
  for (const id of ["eca", "pca"]) {
    const get = () => rotation;
    makeRotatable(plotOf(id), get, (next, isDone) => {
      rotation = next;
      if (isDone) set({ rotation: next.join(",") });
      else requestAnimationFrame(() => drawCards(["eca", "pca"]));
    });
  }
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const isDrawn = target.classList.contains("js-plotly-plot") && target.clientHeight;
      if (isDrawn) Plotly.Plots.resize(target);
    }
  });
  ALL_CARDS.forEach((id) => observer.observe(plotOf(id)));
}

async function main() {
  readToken();
  startTheme(byId("theme"), () => {
    drawn.clear();
    drawCards(ALL_CARDS);
  });
  startConnection();
  byId("error-close").addEventListener("click", () => showError(null));
  const start = await json("/api/start");
  setPalettes(start.palette);
  startControls(start, showError);
  startSlider();
  startExport(showError);
  startSelection({
    rows: () => views.points.rows,
    changed: () => drawCards(ALL_CARDS),
    showError,
  });
  startPlots();
  onChange(followState);
  addEventListener("popstate", () => location.reload());
}

main().catch((error) => {
  showError(`The page cannot start: ${error.message}`);
  throw error;
});
