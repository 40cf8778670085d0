// Requests to the server.

const MAX_RECONNECT_DELAY = 15; // seconds
let reconnect = () => {};

// The token that every request needs. The first address contains it; then it is stored for this
// origin, not in a cookie: browsers send cookies to all ports of a host.
const KEY = "mercer-token";
let token = "";

/** Read the token from the address, or else from the storage; remove it from the address. */
export function readToken(storage = () => localStorage) {
  const query = new URLSearchParams(location.search);
  token = query.get("token") ?? "";
  if (token) {
    query.delete("token");
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }
  try {
    if (token) storage().setItem(KEY, token);
    else token = storage().getItem(KEY) ?? "";
  } catch {
    // storage is disabled: the token holds until the page is reloaded
  }
}

export const authorization = () => `Bearer ${token}`;

/** An error response of the server. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Set the listener for a lost connection. It is called with the seconds until the next attempt,
 * and with 0 when the connection is back; it returns a promise to wait for.
 */
export function onConnectionLost(listener) {
  reconnect = listener;
}

/**
 * Fetch a path. A request is repeated until a lost connection is back; errors of the server are
 * thrown. Uploads (blobs) are never repeated.
 */
export async function call(path, options = {}) {
  const isUpload = options.body instanceof Blob;
  for (let wait = 1; ; wait = Math.min(2 * wait, MAX_RECONNECT_DELAY)) {
    let response;
    try {
      const headers = { Authorization: authorization() };
      response = await fetch(path, { ...options, headers });
    } catch {
      if (isUpload)
        throw new RequestError(0, "The connection was lost during the upload. Try again.");
      await reconnect(wait);
      continue;
    }
    reconnect(0);
    if (response.ok) return response;
    const content = await response.json().catch(() => ({}));
    throw new RequestError(
      response.status,
      content.error ?? `The server responded with status ${response.status}.`,
    );
  }
}

export const json = async (path, options) => (await call(path, options)).json();

// While one request is in flight, only the newest of the following requests is sent.

/**
 * Run one job at a time. While a job runs, only the newest argument is stored for the next job.
 * A job may return a function that is called after the next job has started.
 */
export class Newest {
  constructor(job) {
    this.job = job;
    this.isBusy = false;
    this.next = null;
  }

  async ask(argument) {
    if (this.isBusy) {
      this.next = { argument };
      return;
    }
    this.isBusy = true;
    let afterwards;
    try {
      afterwards = await this.job(argument);
    } finally {
      this.isBusy = false;
      const next = this.next;
      this.next = null;
      if (next) this.ask(next.argument);
      afterwards?.();
    }
  }
}

/**
 * A function that loads and shows the newest argument. Responses to older arguments are dropped,
 * and errors of the server are passed to `fail`. The argument null cancels: nothing is shown.
 */
export function newestLoader({ load, show, fail }) {
  let current = null;
  const requests = new Newest(async (wanted) => {
    try {
      const found = await load(wanted);
      if (wanted === current) show(found);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (wanted === current) fail(error.message);
    }
  });
  return (wanted) => {
    current = wanted;
    return wanted === null ? Promise.resolve() : requests.ask(wanted);
  };
}
