// The state of the page is the query of the address: it can be bookmarked, shared and reloaded.

export const DEFAULTS = {
  data: "rings",
  label: null,
  ignore: [],
  categorical: [],
  missing: "auto",
  scale: null,
  kernel: "gaussian",
  bandwidth: null,
  nu: "1.5",
  degree: "2",
  constant: "1.0",
  components: "3",
  clusters: null,
  method: "entropy",
  order: "entropy",
  picks: [],
  center: "1",
  terms: "selected",
  x: "",
  y: "",
  dimensions: "3",
  rotation: "30,20",
  color: "label",
};
const LISTS = ["ignore", "categorical"];
const listeners = [];

export const state = parseQuery(globalThis.location?.search ?? "");

/** The state of a query; parameters that are not named have their defaults. */
export function parseQuery(search) {
  const found = { ...DEFAULTS };
  const query = new URLSearchParams(search);
  for (const name of Object.keys(DEFAULTS)) {
    if (!query.has(name)) continue;
    if (LISTS.includes(name)) found[name] = query.getAll(name);
    else if (name === "picks") found.picks = query.get(name).split(",").filter(Boolean).map(Number);
    else found[name] = query.get(name);
  }
  return found;
}

/** The query of a state, without defaults; optionally of some parameters only. */
export function toQuery(of = state, names = Object.keys(DEFAULTS)) {
  const pairs = new URLSearchParams();
  for (const name of names) {
    const value = of[name];
    if (value === null || String(value) === String(DEFAULTS[name] ?? "\0")) continue;
    if (LISTS.includes(name)) value.forEach((one) => pairs.append(name, one));
    else pairs.set(name, Array.isArray(value) ? value.join(",") : value);
  }
  return pairs.toString();
}

/** Change the state and the address, and call the listeners with the changes. */
export function set(changes) {
  Object.assign(state, changes);
  const query = toQuery();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  listeners.forEach((listener) => listener(changes));
}

export function onChange(listener) {
  listeners.push(listener);
}
