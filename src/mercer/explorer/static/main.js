// Starts the page: state in the address → numbers from the explorer → pictures.

import { json, Newest, Refused, whenLost } from "./api.js";
import { CARDS, SCATTERS, build, isSeen, plotOf } from "./cards.js";
import { startControls, updateControls } from "./controls.js";
import { selected, select, listen, startSelection } from "./selection.js";
import { markOptimum, startSlider, updateSlider } from "./slider.js";
import { onChange, query, set, state } from "./state.js";
import { startTakeaway } from "./takeaway.js";
import { startTheme, usePalettes } from "./theme.js";
import { makeTurnable } from "./turning.js";
import { draw } from "./views.js";
import { number, percent, place, plural } from "./words.js";

const at = (id) => document.getElementById(id);
const grid = at("grid");
const known = { summary: null, views: {}, of: {} }; // of: the query that each view is about
const drawn = new Map(); // what a card was drawn from, to leave alone what has not changed
const ONLY_DRAWING = ["turn", "dimensions", "colour"];
let turn = state.turn.split(",").map(Number);

// --- numbers -----------------------------------------------------------------------------------

const computed = () => query(Object.fromEntries(Object.entries(state).filter(([name]) => !ONLY_DRAWING.includes(name))));
const needed = () => [...new Set(CARDS.filter((card) => card.id !== "path" && isSeen(card.id)).flatMap((card) => card.needs))];

const loop = new Newest(async () => {
  const of = computed();
  const names = ["points", ...needed()].filter((name) => known.of[name] !== of);
  if (names.length === 0) return finish();
  grid.classList.add("busy");
  try {
    const found = await json(`/api/views?${of}&show=${names.join(",")}`);
    return () => { // after the next question is on its way: it is answered while this is drawn
      take(found, of);
      complain(null);
      finish();
    };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status !== 409) complain(error.message);
  } finally {
    grid.classList.remove("busy");
  }
  return finish();
});

// the sweep depends on less, and takes longer: it has a loop of its own
const ofSweep = () => {
  const { data, label, ignore, categorical, scale, kernel, nu, components, clusters } = state;
  return query({ data, label, ignore, categorical, scale, kernel, nu, components, clusters });
};
const sweeps = new Newest(async () => {
  const of = ofSweep();
  if (known.of.path !== of) {
    waiting(true);
    markOptimum(null);
    try {
      const found = await json(`/api/views?${of}&show=path`);
      known.views.path = found.views.path;
      known.of.path = of;
      if (found.views.path.optimum && of === ofSweep()) markOptimum(found.views.path.optimum);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      known.views.path = { reason: error.message };
    }
    waiting(false);
  }
  drawCards(["path"]);
});

function waiting(yes) {
  plotOf("path").querySelector(".waiting")?.remove();
  if (!yes) return;
  const text = document.createElement("p");
  text.className = "waiting";
  text.textContent = "Sweeping over bandwidths …";
  plotOf("path").append(text);
}

function take(found, of) {
  const rows = JSON.stringify(known.views.points?.rows);
  Object.assign(known.views, found.views);
  for (const name of Object.keys(found.views)) known.of[name] = of;
  known.summary = found.summary;
  if (selected.size && JSON.stringify(known.views.points.rows) !== rows) select([]);
  updateSlider(found.summary);
  updateControls(found.summary);
  tellFacts();
  drawCards(CARDS.map((card) => card.id));
}

function finish() {
  const settled = ["points", ...needed()].every((name) => known.of[name] === computed());
  grid.setAttribute("aria-busy", String(!settled));
  if (settled) grid.dataset.settled = `?${computed()}`;
}

// --- pictures ----------------------------------------------------------------------------------

function drawCards(ids, force = false) {
  if (!known.summary) return;
  const all = { ...known, state, selected, select, toggle, turn: () => turn, redraw: (some) => drawCards(some, true) };
  for (const id of ids) {
    const card = CARDS.find((one) => one.id === id);
    if (!isSeen(id) || card.needs.some((name) => !known.views[name])) continue;
    const views = card.needs.map((name) => known.views[name]);
    const deep = state.dimensions === "3" && (id === "eca" || id === "pca");
    const from = JSON.stringify([views, known.summary.places, ["path", "spectrum", "gram"].includes(id) ? known.summary.bandwidth : 0,
      state.colour, state.terms, deep ? turn : 0, state.center, SCATTERS.includes(id) ? known.views.points.classes : 0,
      id === "clusters" || id === "gram" || state.colour === "cluster" || !known.views.points.classes ? known.views.points.clusters : 0,
      ["gram", "eigenfunctions"].includes(id) ? [...selected] : 0]);
    if (!force && drawn.get(id) === from) continue;
    drawn.set(id, from);
    const plot = plotOf(id), isNew = !plot.classList.contains("js-plotly-plot");
    if (draw(id, all) && isNew) attach(id, plot);
  }
}

function attach(id, plot) {
  if (SCATTERS.includes(id) && !["gram", "eigenfunctions"].includes(id)) listen(plot);
  if (id === "spectrum") plot.on("plotly_click", (event) => toggle(Number(event.points[0].x), known.views.spectrum.kept));
  if (id === "path") plot.on("plotly_click", (event) => set({ bandwidth: String(event.points[0].x) }));
}

/** Add or remove a component by hand, starting from what is kept now. */
function toggle(one, kept) {
  const next = kept.includes(one) ? kept.filter((other) => other !== one) : [...kept, one].sort((a, b) => a - b);
  if (next.length === 0) return tell("At least one component must stay.");
  set({ picks: next });
}

function tellFacts() {
  const { summary } = known, clusters = known.views.clusters?.sizes ? known.views.clusters : null;
  const facts = [["table", summary.name], ["rows", summary.rows.toLocaleString("en")]];
  if (summary.bandwidth !== null) facts.push([summary.is_numeric ? "bandwidth σ" : "bandwidth factor", number(summary.bandwidth)]);
  facts.push(["components kept", summary.places.map(place).join(", ")], ["of the potential V", percent(summary.share)]);
  if (clusters && clusters.agreement !== null) facts.push(["agreement with classes", clusters.agreement.toFixed(2)]);
  at("facts").replaceChildren(...facts.map(([term, what]) => {
    const box = document.createElement("div");
    for (const [kind, text] of [["dt", term], ["dd", what]]) {
      const part = document.createElement(kind);
      part.textContent = text;
      box.append(part);
    }
    return box;
  }));
  document.title = `${summary.name} – mercer explorer`;
  const sizes = clusters ? ` ${plural(clusters.sizes.length, "cluster")} of ${clusters.sizes.join(", ")} rows.` : "";
  tell(`Components ${summary.places.map(place).join(", ")} hold ${percent(summary.share)} of the information potential${summary.bandwidth === null ? "" : ` at bandwidth ${number(summary.bandwidth)}`}.${sizes}`);
}

// --- telling -----------------------------------------------------------------------------------

let telling = 0;
function tell(text) { // not at every step of a slider
  clearTimeout(telling);
  telling = setTimeout(() => { at("status").textContent = text; }, 600);
}

function complain(message) {
  at("trouble").hidden = !message;
  at("trouble-text").textContent = message ?? "";
}

function startConnection() {
  let wake = () => {};
  at("retry").addEventListener("click", () => wake());
  whenLost((seconds) => {
    at("lost").hidden = seconds === 0;
    if (seconds === 0) return undefined;
    at("lost-text").textContent = "The connection to the explorer is lost. Trying again …";
    return new Promise((done) => { wake = done; setTimeout(done, 1000 * seconds); });
  });
}

// --- start -------------------------------------------------------------------------------------

function follow(changes) {
  const names = Object.keys(changes);
  if (names.includes("turn")) turn = state.turn.split(",").map(Number);
  if (known.summary) updateControls(known.summary);
  if (names.every((name) => ONLY_DRAWING.includes(name))) drawCards(CARDS.map((card) => card.id));
  else ask();
}

function ask() {
  grid.dataset.settled = "";
  loop.ask();
  if (isSeen("path")) {
    if (known.of.path === ofSweep()) drawCards(["path"]);
    else sweeps.ask();
  }
}

async function main() {
  startTheme(at("theme"), () => { drawn.clear(); drawCards(CARDS.map((card) => card.id), true); });
  startConnection();
  at("trouble-close").addEventListener("click", () => complain(null));
  const start = await json("/api/start");
  usePalettes(start.palette);
  startControls(start, complain);
  startSlider();
  startTakeaway(complain);
  startSelection(() => known.views.points.rows, (ids) => drawCards(ids));
  build(grid, () => { ask(); drawCards(CARDS.map((card) => card.id)); });
  for (const id of ["eca", "pca"]) {
    makeTurnable(plotOf(id), () => turn, (next, done) => {
      turn = next;
      if (done) set({ turn: next.join(",") });
      else requestAnimationFrame(() => drawCards(["eca", "pca"]));
    });
  }
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => target.classList.contains("js-plotly-plot") && target.clientHeight && Plotly.Plots.resize(target)));
  CARDS.forEach((card) => sizes.observe(plotOf(card.id)));
  onChange(follow);
  addEventListener("popstate", () => location.reload());
}

main().catch((error) => { complain(`The page could not start: ${error.message}`); throw error; });
