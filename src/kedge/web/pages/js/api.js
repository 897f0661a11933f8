/** The HTTP API: requests with the session's CSRF token, an idempotency key per change, and events. */

let csrf = "";
/** @param {string} token */
export const setCsrf = (token) => {
  csrf = token;
};

/** A refusal of the server, as problem+json has it. */
export class Problem extends Error {
  /** @param {any} row */
  constructor(row) {
    super(row.detail);
    this.type = row.type;
    this.status = row.status;
    this.detail = row.detail;
    this.hint = row.hint;
  }
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
async function request(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (method !== "GET") Object.assign(headers, { "X-CSRF-Token": csrf, "Idempotency-Key": newKey() });
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers,
    signal,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  const text = await response.text();
  const row = text ? JSON.parse(text) : null;
  if (response.ok) return row;
  if (response.status === 401 && path !== "/session") dispatchEvent(new Event("kedge-signed-out"));
  throw new Problem(row ?? { status: response.status, detail: response.statusText });
}

/** A read; of a page that was left meanwhile it never ends. @param {string} path @param {AbortSignal} [signal] */
export async function get(path, signal) {
  try {
    return await request("GET", path, undefined, signal);
  } catch (error) {
    if (signal?.aborted) return new Promise(() => {});
    throw error;
  }
}
/** @param {string} path @param {any} [body] */
export const post = (path, body) => request("POST", path, body);
/** @param {string} path @param {any} [body] */
export const patch = (path, body) => request("PATCH", path, body);
/** @param {string} path */
export const del = (path) => request("DELETE", path);

/** @typedef {{close: () => void}} Stream */

/**
 * Listen to events until the page is left. A browser has six connections to a server for all its tabs, so a tab that is
 * hidden keeps none: `missed` is called when it is shown again, for what the first event of a stream does not tell.
 * @param {string} path @param {AbortSignal} signal @param {Record<string, (row: any) => void>} handlers @param {() => void} [missed] @returns {Stream}
 */
export function listen(path, signal, handlers, missed = () => {}) {
  /** @type {EventSource|null} */
  let source = null;
  const open = () => {
    source = new EventSource(`/api/v1${path}`);
    for (const [kind, handle] of Object.entries(handlers))
      source.addEventListener(kind, (event) => handle(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  };
  const rest = () => {
    source?.close();
    source = null;
  };
  const turn = () => {
    if (document.hidden) return rest();
    if (source) return;
    open();
    missed();
  };
  const close = () => {
    document.removeEventListener("visibilitychange", turn);
    rest();
  };
  document.addEventListener("visibilitychange", turn);
  signal.addEventListener("abort", close);
  if (!document.hidden) open();
  return { close };
}

/** Wait for a job to end, with its progress. @param {string} cluster @param {string} id @param {AbortSignal} signal @param {(row: any) => void} [onProgress] @returns {Promise<any>} */
export function awaitJob(cluster, id, signal, onProgress = () => {}) {
  return new Promise((resolve, reject) => {
    const source = listen(`/clusters/${cluster}/jobs/${id}/events`, signal, {
      progress: onProgress,
      job: (row) => {
        if (row.state === "done") {
          source.close();
          resolve(row);
        } else if (row.state === "failed") {
          source.close();
          reject(new Problem(row.problem));
        }
      },
    });
  });
}
