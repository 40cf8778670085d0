// The form on the left.

import { json, RequestError } from "./api.js";
import { byId, element, setOptions } from "./dom.js";
import { integer, plural } from "./format.js";
import { DEFAULTS, set, state } from "./state.js";

const PLAIN = ["kernel", "nu", "degree", "constant", "method", "terms", "dimensions", "color"];
const MAX_COLUMNS = 200;
const KERNEL_NAMES = {
  gaussian: "Gaussian",
  laplacian: "Laplacian",
  matern: "Matérn",
  epanechnikov: "Epanechnikov",
  polynomial: "Polynomial",
  linear: "Linear",
  cosine: "Cosine",
};
// parameters that are reset when another table is chosen
const TABLE_PARAMETERS = [
  "label",
  "ignore",
  "categorical",
  "missing",
  "scale",
  "bandwidth",
  "picks",
  "x",
  "y",
];
const RESETS = {
  kernel: { bandwidth: null, picks: [] },
  scale: { bandwidth: null },
};
let start = null; // the response of /api/start
let isNumeric = true;

export function startControls(given, showError) {
  start = given;
  const kernels = Object.keys(start.kernels).map((name) => [name, KERNEL_NAMES[name] ?? name]);
  setOptions(byId("kernel"), kernels);
  byId("data").addEventListener("change", () => chooseTable(byId("data").value));
  for (const name of PLAIN) {
    onChange(name, (value) => ({ [name]: value || DEFAULTS[name], ...RESETS[name] }));
  }
  for (const name of ["scale", "center"]) {
    onChange(name, () => ({ [name]: byId(name).checked ? "1" : "0", ...RESETS[name] }));
  }
  onChange("components", (value) => {
    const count = Math.max(1, Math.min(start.max_components, Math.round(Number(value)) || 3));
    const clusters = Number(state.clusters) > count ? null : state.clusters;
    return { components: String(count), picks: [], clusters };
  });
  onChange("clusters", (value) => ({ clusters: value || null }));
  for (const radio of document.getElementsByName("order")) {
    radio.addEventListener("change", () => set({ order: radio.value, picks: [] }));
  }
  onChange("x", (value) => axesAfter("x", "y", value));
  onChange("y", (value) => axesAfter("y", "x", value));
  byId("unpick").addEventListener("click", () => set({ picks: [] }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  startUpload(showError);
  showState();
}

function onChange(id, changes) {
  byId(id).addEventListener("change", () => set(changes(byId(id).value)));
}

/** Set both axes to columns, or neither; the other axis gets a different column if needed. */
function axesAfter(name, other, value) {
  if (!value) return { x: "", y: "" };
  const isFree = state[other] && state[other] !== value;
  const columns = [...byId(other).options].map((option) => option.value);
  const free = columns.find((column) => column && column !== value) ?? "";
  return { [name]: value, [other]: isFree ? state[other] : free };
}

function listTables() {
  const pairs = [
    ...start.uploads,
    ...(start.given ? [["given", start.given]] : []),
    ...start.embedded.map((name) => [name, name]),
  ];
  if (!pairs.some(([key]) => key === state.data)) {
    pairs.unshift([state.data, "(not available)"]);
  }
  setOptions(byId("data"), pairs);
  byId("data").value = state.data;
}

function chooseTable(data) {
  set({ data, ...Object.fromEntries(TABLE_PARAMETERS.map((name) => [name, DEFAULTS[name]])) });
}

// --- uploads -----------------------------------------------------------------------------------

function startUpload(showError) {
  const field = byId("file");
  const area = field.closest("label");
  field.addEventListener("change", () => {
    if (field.files[0]) upload(field.files[0], showError);
    field.value = "";
  });
  addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  addEventListener("dragleave", () => area.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0], showError);
  });
}

async function upload(file, showError) {
  const megabytes = (size) => `${(size / 1e6).toFixed(0)} MB`;
  if (file.size > start.upload_limit) {
    const limit = megabytes(start.upload_limit);
    showError(
      `${file.name} is ${megabytes(file.size)}; the limit is ${limit}. Use a smaller file.`,
    );
    return;
  }
  byId("table-facts").textContent = `Uploading ${file.name} …`;
  try {
    const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
    const found = await json(path, { method: "POST", body: file });
    start.uploads = [...start.uploads, [found.data, found.name]];
    showError(null);
    chooseTable(found.data);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    byId("table-facts").textContent = "";
    showError(error.message);
  }
}

// --- updates -----------------------------------------------------------------------------------

/** Update the controls that depend on the state only; called when the state changes. */
export function showState() {
  if (byId("data").value !== state.data) listTables();
  const setValue = (id, value) => {
    if (document.activeElement !== byId(id)) byId(id).value = value;
  };
  for (const name of PLAIN) setValue(name, state[name]);
  const count = state.picks.length || Number(state.components);
  setValue("components", count);
  const smaller = Array.from({ length: Math.max(0, count - 1) }, (_, i) => String(i + 1));
  setOptions(byId("clusters"), [["", `${count} (same)`], ...smaller.map((text) => [text, text])]);
  byId("clusters").value = smaller.includes(state.clusters) ? state.clusters : "";
  for (const radio of document.getElementsByName("order")) {
    radio.checked = radio.value === state.order && !state.picks.length;
  }
  byId("picks-hint").hidden = !state.picks.length;
  byId("center").checked = state.center === "1";
  showKernelParameters();
}

function showKernelParameters() {
  const parameters = isNumeric ? (start.kernels[state.kernel] ?? []) : [];
  for (const box of document.querySelectorAll("[data-for]")) {
    box.hidden = !parameters.includes(box.dataset.for);
  }
}

/** Update the controls that depend on the table; called when a response arrives. */
export function showSummary(summary) {
  if (isNumeric !== summary.is_numeric) {
    isNumeric = summary.is_numeric;
    showKernelParameters();
  }
  byId("kernel").disabled = !isNumeric;
  byId("kernel-hint").textContent = isNumeric
    ? ""
    : "This table has non-numeric columns or missing values: its kernel is a product of one " +
      "kernel per column.";
  byId("scale").checked = summary.scaled;
  byId("scale").disabled = !isNumeric;
  byId("color").disabled = !summary.has_classes;
  byId("table-facts").textContent = describeTable(summary);
  showAxes(summary);
  showColumns(summary);
}

function showAxes(summary) {
  const numeric = summary.columns.filter((name) => summary.kinds[name] === "number");
  const first = ["", numeric.length > 2 ? "principal axes" : "all columns"];
  const pairs = numeric.slice(0, MAX_COLUMNS).map((name) => [name, name]);
  for (const axis of ["x", "y"]) {
    setOptions(byId(axis), [first, ...pairs]);
    byId(axis).value = numeric.includes(state[axis]) ? state[axis] : "";
    byId(axis).closest(".pair").hidden = numeric.length < 3;
  }
}

/** A text about the rows and columns that are used. */
export function describeTable(summary) {
  const parts = [`${plural(summary.rows, "row")}, ${plural(summary.columns.length, "column")}.`];
  if (summary.rows_omitted) {
    parts.push(`${plural(summary.rows_omitted, "row")} with missing values dropped.`);
  }
  if (summary.analyzed < summary.rows - summary.rows_omitted) {
    parts.push(`Computed on a random subsample of ${integer(summary.analyzed)} rows.`);
  }
  if (summary.shown < summary.analyzed) parts.push(`${integer(summary.shown)} rows are shown.`);
  const unusable = summary.omissions.filter(({ code }) => code !== "ignored");
  if (unusable.length) {
    const listed = unusable.slice(0, 4).map(({ column, reason }) => `${column} (${reason})`);
    parts.push(`Columns not used: ${listed.join(", ")}${unusable.length > 4 ? " …" : ""}.`);
  }
  return [...parts, ...summary.notes].join(" ");
}

let shownColumns = "";

function showColumns(summary) {
  const { ignore, categorical } = state;
  const key = JSON.stringify([summary.all_columns, ignore, categorical, summary.label]);
  if (shownColumns === key) return; // replacing the lists would remove the focus
  shownColumns = key;
  const role = (name) => {
    if (summary.label === name) return "label";
    if (ignore.includes(name)) return "ignore";
    return categorical.includes(name) ? "categorical" : "use";
  };
  const lines = summary.all_columns.slice(0, MAX_COLUMNS).map(([name, kind]) => {
    const select = element("select");
    setOptions(select, [
      ["use", kind],
      ...(kind === "number" ? [["categorical", "category"]] : []),
      ["label", "class (color)"],
      ["ignore", "ignore"],
    ]);
    select.value = role(name);
    select.addEventListener("change", () => set(roleChanges(name, select.value, summary)));
    return element("label", {}, name, select);
  });
  byId("columns").replaceChildren(...lines);
}

function roleChanges(name, role, summary) {
  const without = (list) => list.filter((one) => one !== name);
  const changes = {
    ignore: without(state.ignore),
    categorical: without(state.categorical),
    bandwidth: null,
    picks: [],
  };
  if (role === "ignore" || role === "categorical") changes[role] = [...changes[role], name];
  if (role === "label") changes.label = name;
  else if (summary.label === name) changes.label = "";
  return changes;
}
