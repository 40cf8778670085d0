// While one request is in flight, only the newest of the following requests is sent.

import { RequestError } from "./api.js";

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
