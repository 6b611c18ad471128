// Talking to the server: JSON both ways, and a run's stream that survives lost connections.

const MAX_WAIT_MS = 8000;

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }

  /** Whether the same request may succeed later: the connection was at fault, or the server. */
  get mayPass() {
    return this.status === 0 || this.status >= 500;
  }
}

async function answer(response) {
  if (response.ok) return response;
  // The login has run out: it is asked for, and leads back here.
  if (response.status === 401 && document.querySelector('meta[name="wb-login"]')) location.reload();
  const data = await response.json().catch(() => ({}));
  throw new Refused(data.error ?? data.detail ?? `the server answered ${response.status}`, response.status);
}

async function send(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    throw new Refused("the workbench does not answer; is it still running in its terminal?", 0);
  }
  return answer(response);
}

export const getJson = async (address) => (await send(address)).json();
export const getText = async (address) => (await send(address)).text();

async function sendJson(method, address, body, signal) {
  const headers = { "content-type": "application/json" };
  return (await send(address, { method, headers, body: JSON.stringify(body), signal })).json();
}

export const postJson = (address, body, signal) => sendJson("POST", address, body, signal);
export const putJson = (address, body) => sendJson("PUT", address, body);

export const deleteJson = async (address) => (await send(address, { method: "DELETE" })).json();

export const runPath = (id, rest = "") => `/api/runs/${encodeURIComponent(id)}${rest}`;
export const domainPath = (name, rest = "") => `/api/toolscale/domains/${encodeURIComponent(name)}${rest}`;

/**
 * Follow a run. Frames arrive once each and in order, whatever the connection does.
 * `on`: frame(event), clock(t_s), queued({ place, waiting }), never(message), broken(message), end(), lost(seconds until the next try), back(), unknown(message).
 * Returns a function that stops following.
 */
export function follow(id, on) {
  let last = 0;
  let tries = 0;
  let source = null;
  let timer = 0;
  let closed = false;

  function close() {
    closed = true;
    clearTimeout(timer);
    source?.close();
  }

  async function lost() {
    source.close();
    if (closed) return;
    try {
      await getJson(runPath(id));
    } catch (error) {
      if (error.status === 404 && !closed) {
        close();
        on.unknown(error.message);
        return;
      }
    }
    if (closed) return;
    const pause = Math.min(1000 * 2 ** tries, MAX_WAIT_MS);
    tries += 1;
    on.lost(pause / 1000);
    timer = setTimeout(open, pause);
  }

  function open() {
    source = new EventSource(`${runPath(id, "/events")}?after=${last}`);
    source.onopen = () => {
      if (tries) on.back();
      tries = 0;
    };
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.seq <= last) return;
      last = event.seq;
      on.frame(event);
    };
    source.addEventListener("clock", (message) => on.clock(JSON.parse(message.data).t_s));
    source.addEventListener("queued", (message) => on.queued?.(JSON.parse(message.data)));
    source.addEventListener("never", (message) => on.never?.(JSON.parse(message.data).message));
    source.addEventListener("broken", (message) => on.broken(JSON.parse(message.data).message));
    source.addEventListener("end", () => {
      close();
      on.end();
    });
    source.onerror = lost;
  }

  open();
  return close;
}
