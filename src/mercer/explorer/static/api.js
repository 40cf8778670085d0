// Talking to the explorer: one request in flight, then the newest; a lost connection is waited for.

const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
let onLost = () => {};

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function whenLost(listener) {
  onLost = listener;
}

/** Fetch, and wait as long as the connection is lost. */
export async function call(path, options = {}) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 15)) {
    let answer;
    try {
      answer = await fetch(path, { ...options, headers: { "X-Mercer-Tab": tab } });
    } catch {
      await onLost(wait);
      continue;
    }
    onLost(0);
    if (answer.status === 503) {
      await new Promise((done) => setTimeout(done, 500));
      continue;
    }
    if (!answer.ok) {
      const told = await answer.json().catch(() => ({}));
      throw new Refused(answer.status, told.error ?? `The explorer answered ${answer.status}.`);
    }
    return answer;
  }
}

export const json = async (path, options) => (await call(path, options)).json();

/**
 * Runs one job at a time; of those that come meanwhile only the newest is done.
 * A job may return what is to be done once the next one has begun.
 */
export class Newest {
  constructor(job) {
    this.job = job;
    this.busy = false;
    this.next = null;
  }

  async ask(what) {
    if (this.busy) {
      this.next = { what };
      return;
    }
    this.busy = true;
    let then;
    try {
      then = await this.job(what);
    } finally {
      this.busy = false;
      const next = this.next;
      this.next = null;
      if (next) this.ask(next.what);
      then?.();
    }
  }

  get isIdle() {
    return !this.busy && !this.next;
  }
}
