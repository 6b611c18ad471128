// The addresses of Live: a run, or a turn of one, and that address in the clipboard.

import { share } from "./share.js";

const SAID_MS = 6000;

export const pageOf = (id, turn = null) =>
  id ? `/?${new URLSearchParams(turn === null ? { run: id } : { run: id, turn })}` : "/";

export class Sharing {
  /** Says in `host`, for a while, what became of it. */
  constructor(host) {
    this.host = host;
    this.timer = 0;
  }

  /** Copy the link to a run, or to a turn of it. */
  async copy(id, turn) {
    const words = await share(new URL(pageOf(id, turn), location.href).href);
    this.host.textContent = turn === null ? words : `${words} · to turn ${turn}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.host.textContent = "";
    }, SAID_MS);
    return true;
  }
}
