// Requests to the server.

import { authorization } from "./token.js";

const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
const BUSY_DELAYS = [500, 1000, 2000]; // milliseconds before a request to a busy server is repeated
const MAX_RECONNECT_DELAY = 15; // seconds
let reconnect = () => {};

/** An error response of the server. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether a newer request of this tab replaced this one. */
  get isSuperseded() {
    return this.status === 409;
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
 * Fetch a path. A request is repeated until a lost connection is back, and a few times if the server
 * is busy (503); then the error of the server is thrown. Uploads (blobs) are never repeated.
 */
export async function call(path, options = {}) {
  const isUpload = options.body instanceof Blob;
  const busyDelays = isUpload ? [] : [...BUSY_DELAYS];
  for (let wait = 1; ; wait = Math.min(2 * wait, MAX_RECONNECT_DELAY)) {
    let response;
    try {
      const headers = { "X-Mercer-Tab": tab, Authorization: authorization() };
      response = await fetch(path, { ...options, headers });
    } catch {
      if (isUpload)
        throw new RequestError(0, "The connection was lost during the upload. Try again.");
      await reconnect(wait);
      continue;
    }
    reconnect(0);
    if (response.ok) return response;
    if (response.status === 503 && busyDelays.length) {
      const delay = busyDelays.shift();
      await new Promise((done) => setTimeout(done, delay));
      continue;
    }
    const content = await response.json().catch(() => ({}));
    throw new RequestError(
      response.status,
      content.error ?? `The server responded with status ${response.status}.`,
    );
  }
}

export const json = async (path, options) => (await call(path, options)).json();
