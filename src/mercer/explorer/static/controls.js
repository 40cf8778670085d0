// The form on the left: what the user sets goes into the state, what the explorer said comes back.

import { json, Refused } from "./api.js";
import { state, set, DEFAULTS } from "./state.js";
import { plural } from "./words.js";

const at = (id) => document.getElementById(id);
const SIMPLE = ["kernel", "nu", "degree", "constant", "terms", "dimensions", "colour"];
const MOST_COLUMNS = 200;
const NAMES = { gaussian: "Gaussian", laplacian: "Laplacian", matern: "Matérn", epanechnikov: "Epanechnikov", polynomial: "Polynomial", linear: "Linear", cosine: "Cosine" };
// another table: what belongs to the old one is forgotten
const OF_THE_TABLE = ["label", "ignore", "categorical", "scale", "bandwidth", "picks", "x", "y"];
let start = null;

export function startControls(given, complain) {
  start = given;
  options(at("kernel"), Object.keys(start.kernels).map((name) => [name, NAMES[name] ?? name]));
  listTables();
  at("data").addEventListener("change", () => change(at("data").value));
  for (const name of SIMPLE) {
    at(name).addEventListener("change", () => set({ [name]: at(name).value || DEFAULTS[name], ...(name === "kernel" ? { bandwidth: null, picks: [] } : {}) }));
  }
  at("components").addEventListener("change", () => {
    const count = Math.max(1, Math.min(start.most_components, Math.round(Number(at("components").value)) || 3));
    set({ components: String(count), picks: [], clusters: state.clusters && Number(state.clusters) > count ? null : state.clusters });
  });
  at("clusters").addEventListener("change", () => set({ clusters: at("clusters").value || null }));
  for (const name of ["scale", "center"]) at(name).addEventListener("change", () => set({ [name]: at(name).checked ? "1" : "0", ...(name === "scale" ? { bandwidth: null } : {}) }));
  for (const radio of document.getElementsByName("order")) radio.addEventListener("change", () => set({ order: radio.value, picks: [] }));
  for (const name of ["x", "y"]) {
    at(name).addEventListener("change", () => {
      const other = name === "x" ? "y" : "x", value = at(name).value;
      const rest = [...at(other).options].map((option) => option.value).filter((one) => one && one !== value);
      set(value ? { [name]: value, [other]: state[other] && state[other] !== value ? state[other] : rest[0] ?? "" } : { x: "", y: "" });
    });
  }
  at("unpick").addEventListener("click", () => set({ picks: [] }));
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  startUpload(complain);
}

function options(select, pairs) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
}

function listTables() {
  const pairs = [...start.uploads.map(([key, name]) => [key, name]), ...(start.given ? [["given", start.given]] : []), ...start.embedded.map((name) => [name, name])];
  if (!pairs.some(([key]) => key === state.data)) pairs.unshift([state.data, "(not in this session)"]);
  options(at("data"), pairs);
  at("data").value = state.data;
}

function change(data) {
  set({ data, ...Object.fromEntries(OF_THE_TABLE.map((name) => [name, DEFAULTS[name]])) });
}

// --- files -----------------------------------------------------------------------------------

function startUpload(complain) {
  const field = at("file"), drop = field.closest("label");
  field.addEventListener("change", () => { if (field.files[0]) upload(field.files[0], complain); field.value = ""; });
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0], complain);
  });
}

async function upload(file, complain) {
  if (file.size > start.upload_limit) {
    complain(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the limit is ${(start.upload_limit / 1e6).toFixed(0)} MB.`);
    return;
  }
  at("table-facts").textContent = `Reading ${file.name} …`;
  try {
    const found = await json(`/api/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    start.uploads = [...start.uploads, [found.data, found.name]];
    complain(null);
    change(found.data);
    listTables();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("table-facts").textContent = "";
    complain(error.message);
  }
}

// --- what the explorer said --------------------------------------------------------------------

export function updateControls(summary) {
  if (at("data").value !== state.data) listTables();
  for (const name of SIMPLE) if (document.activeElement !== at(name)) at(name).value = state[name];
  at("kernel").disabled = !summary.is_numeric;
  at("kernel-hint").textContent = summary.is_numeric ? "" : "This table has other columns than numbers, or gaps: its kernel is a product of one kernel per column.";
  for (const box of document.querySelectorAll("[data-for]")) box.hidden = !summary.is_numeric || !start.kernels[state.kernel].includes(box.dataset.for);
  if (document.activeElement !== at("components")) at("components").value = state.picks.length || state.components;
  const count = state.picks.length || Number(state.components);
  options(at("clusters"), [["", `${count} (same)`], ...Array.from({ length: Math.max(0, count - 1) }, (_, i) => [String(i + 1), String(i + 1)])]);
  at("clusters").value = state.clusters && Number(state.clusters) < count ? state.clusters : "";
  for (const radio of document.getElementsByName("order")) radio.checked = radio.value === state.order && !state.picks.length;
  at("picks-hint").hidden = !state.picks.length;
  at("center").checked = state.center === "1";
  at("scale").checked = summary.scaled;
  at("scale").disabled = !summary.is_numeric;
  const numeric = summary.columns.filter((name) => summary.kinds[name] === "number");
  for (const name of ["x", "y"]) {
    options(at(name), [["", numeric.length > 2 ? "principal axes" : "as it is"], ...numeric.slice(0, MOST_COLUMNS).map((one) => [one, one])]);
    at(name).value = numeric.includes(state[name]) ? state[name] : "";
    at(name).closest(".pair").hidden = numeric.length < 3;
  }
  at("colour").disabled = !summary.has_classes;
  at("table-facts").textContent = facts(summary);
  listColumns(summary);
}

function facts(summary) {
  const parts = [`${plural(summary.rows, "row")}, ${plural(summary.columns.length, "column")}.`];
  if (summary.rows_omitted) parts.push(`${plural(summary.rows_omitted, "incomplete row")} left out.`);
  if (summary.analysed < summary.rows - summary.rows_omitted) parts.push(`Computed on ${summary.analysed.toLocaleString("en")} rows drawn at random.`);
  if (summary.shown < summary.analysed) parts.push(`${summary.shown.toLocaleString("en")} of them are shown.`);
  const left = summary.omissions.filter(([, , code]) => code !== "ignored");
  if (left.length) parts.push(`Left out: ${left.slice(0, 4).map(([name, why]) => `${name} (${why})`).join(", ")}${left.length > 4 ? " …" : ""}.`);
  return [...parts, ...summary.notes].join(" ");
}

function listColumns(summary) {
  const box = at("columns"), key = JSON.stringify([summary.all_columns, state.ignore, state.categorical, state.label, summary.label]);
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(...summary.all_columns.slice(0, MOST_COLUMNS).map(([name, kind]) => {
    const line = document.createElement("label"), select = document.createElement("select");
    options(select, [["use", kind], ...(kind === "number" ? [["categorical", "as category"]] : []), ["label", "class (colour)"], ["ignore", "leave out"]]);
    select.value = summary.label === name ? "label" : state.ignore.includes(name) ? "ignore" : state.categorical.includes(name) ? "categorical" : "use";
    select.addEventListener("change", () => choose(name, select.value, summary));
    line.append(name, select);
    return line;
  }));
}

function choose(name, role, summary) {
  const without = (list) => list.filter((one) => one !== name);
  const changes = { ignore: without(state.ignore), categorical: without(state.categorical), bandwidth: null, picks: [] };
  if (role === "ignore" || role === "categorical") changes[role] = [...changes[role], name];
  if (role === "label") changes.label = name;
  else if (summary.label === name) changes.label = "";
  set(changes);
}
