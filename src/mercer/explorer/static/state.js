// The view's state lives in the address: what is there can be bookmarked, shared and reloaded.

export const DEFAULTS = {
  data: "rings", label: null, ignore: [], categorical: [], scale: null, kernel: "gaussian",
  bandwidth: null, nu: "1.5", degree: "2", constant: "1.0", components: "3", clusters: null,
  order: "entropy", picks: [], center: "1", terms: "selected", x: "", y: "",
  dimensions: "3", turn: "30,20", colour: "label",
};
const LISTS = ["ignore", "categorical"];
const listeners = [];

export const state = read();

function read() {
  const found = { ...DEFAULTS };
  const query = new URLSearchParams(location.search);
  for (const name of Object.keys(DEFAULTS)) {
    if (!query.has(name)) continue;
    if (LISTS.includes(name)) found[name] = query.getAll(name);
    else if (name === "picks") found.picks = query.get(name).split(",").filter(Boolean).map(Number);
    else found[name] = query.get(name);
  }
  return found;
}

/** The query of a state: only what differs from the defaults. */
export function query(of = state) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(of)) {
    if (value === null || String(value) === String(DEFAULTS[name] ?? "\0")) continue;
    if (LISTS.includes(name)) value.forEach((one) => pairs.append(name, one));
    else pairs.set(name, Array.isArray(value) ? value.join(",") : value);
  }
  return pairs.toString();
}

/** Change the state, the address and whatever listens. */
export function set(changes) {
  Object.assign(state, changes);
  const now = query();
  history.replaceState(null, "", now ? `?${now}` : location.pathname);
  listeners.forEach((listener) => listener(changes));
}

export function onChange(listener) {
  listeners.push(listener);
}
