import { createRequire } from "node:module";
import { join } from "node:path";
import type * as client from "prom-client";
import { ApiChatError, isOfArchive } from "../errors/index.js";
import { fileSize, hasErrorCode } from "../lib/files.js";
import { VERSION } from "../lib/version.js";
import type { Answer, IncomingRequest, ResponderErrorCode } from "../responder/index.js";
import { STATUS_BY_CODE, answerError, pathOf } from "../responder/internal.js";
import { toNodeListener } from "../responder/node.js";
import { type ListenAddress, type Listener, startListener } from "./listener.js";
import type { Spool } from "./spool/spool.js";
import { SPOOL_FILE } from "./spool/volume.js";

/** How many workspaces have their own series (25 or so each). Limited, because Prometheus keeps each in memory. */
const MAX_WORKSPACES = 100;

/** The label of the series that all further workspaces share. No workspace can have this name. */
const FURTHER = "*";

const HANDSHAKE_RESULTS = ["answered", "invalid_token", "invalid_challenge"];

/** The outcomes of an attempt. An attempt that the shutdown interrupts is not counted. */
const ATTEMPT_RESULTS = ["done", "retry", "refused"];

/** The buckets, in seconds, up to the time limit of an attempt. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The fraction of time that counting rows may take: it blocks deliveries, and a million rows take long to count. */
const COUNTING_SHARE = 0.01;

/** The metrics of a responder for Prometheus: see docs/operate/metrics.md. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The first 100 workspaces have their own series until the process ends; all others share one set. Throws
 * `invalid_config`, which says what to install, if the optional peer prom-client is missing.
 */
export function createMetrics(dataDir: string, spool: Pick<Spool, "ask">) {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = loadClient();
  const registry = new Registry();
  const define = (name: string, help: string, ...labelNames: string[]) => {
    return { name: `apichat_responder_${name}`, help, labelNames, registers: [registry] };
  };
  const accepted = new Counter(define("deliveries_accepted_total", "Deliveries stored.", "workspace"));
  const rejected = new Counter(define("requests_rejected_total", "Error responses.", "workspace", "code"));
  const handshakes = new Counter(define("handshakes_total", "Handshakes.", "workspace", "result"));
  const attempts = new Counter(define("forward_attempts_total", "Attempts.", "workspace", "result"));
  const duration = define("forward_duration_seconds", "Duration of an attempt to forward.", "result");
  const durations = new Histogram({ ...duration, buckets: DURATIONS });
  const pending = new Gauge(define("pending_deliveries", "Deliveries in the spool.", "workspace"));
  const oldest = new Gauge(define("oldest_pending_seconds", "Age of the oldest delivery.", "workspace"));
  const deadLetters = new Gauge(define("dead_letters", "Deliveries that were given up.", "workspace"));
  const bytes = new Gauge(define("spool_bytes", "Size of the spool on disk, in bytes."));
  new Gauge(define("build_info", "Always 1.", "version")).set({ version: VERSION }, 1);
  collectDefaultMetrics({ register: registry });
  // These gauges have the suffix of a counter, which `promtool check metrics` rejects.
  for (const what of ["resources", "handles", "requests"])
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  for (const result of ATTEMPT_RESULTS) durations.zero({ result });

  const own = new Set<string>();
  const labelOf = (workspace: string): string => {
    if (own.size < MAX_WORKSPACES) own.add(workspace);
    return own.has(workspace) ? workspace : FURTHER;
  };

  let countAgainMs = 0;
  const count = async (): Promise<void> => {
    const startMs = performance.now();
    if (startMs < countAgainMs) return;
    const rows = await spool.ask("counts");
    countAgainMs = startMs + (performance.now() - startMs) / COUNTING_SHARE;
    for (const gauge of [pending, deadLetters, oldest]) {
      gauge.reset();
      for (const workspace of own) gauge.set({ workspace }, 0);
    }
    const oldestMs = new Map<string, number>();
    for (const [name, row] of rows) {
      const workspace = labelOf(name);
      pending.inc({ workspace }, row.pending);
      deadLetters.inc({ workspace }, row.deadLetters);
      oldestMs.set(workspace, Math.min(oldestMs.get(workspace) ?? Infinity, row.oldestMs ?? Infinity));
    }
    for (const [workspace, ms] of oldestMs) oldest.set({ workspace }, Math.max(0, Date.now() - ms) / 1000);
  };

  const answer = async ({ method, url }: IncomingRequest): Promise<Answer> => {
    if (method !== "GET" || pathOf(url) !== "/metrics")
      return answerError("not_found", "only GET /metrics is served here");
    await count();
    bytes.set(fileSize(join(dataDir, SPOOL_FILE)) + fileSize(join(dataDir, `${SPOOL_FILE}-wal`)));
    // Each connection serves only one request, so that no idle connection delays the shutdown.
    const headers = { "content-type": registry.contentType, connection: "close" };
    return { status: 200, headers, body: await registry.metrics() };
  };

  return {
    /** Starts the series of these workspaces at 0, so that Prometheus sees the first increase of each. */
    follow: (workspaces: readonly string[]): void => {
      for (const workspace of new Set(workspaces.map(labelOf))) {
        accepted.inc({ workspace }, 0);
        for (const code of Object.keys(STATUS_BY_CODE)) rejected.inc({ workspace, code }, 0);
        for (const result of HANDSHAKE_RESULTS) handshakes.inc({ workspace, result }, 0);
        for (const result of ATTEMPT_RESULTS) attempts.inc({ workspace, result }, 0);
      }
    },
    accepted: (workspace: string): void => accepted.inc({ workspace: labelOf(workspace) }),
    answeredHandshake: (workspace: string): void =>
      handshakes.inc({ workspace: labelOf(workspace), result: "answered" }),
    /** Counts an error response; if it was the response to a handshake, also counts a failed handshake. */
    rejected: (name: string | undefined, code: ResponderErrorCode): void => {
      const workspace = name === undefined ? "" : labelOf(name);
      rejected.inc({ workspace, code });
      if (HANDSHAKE_RESULTS.includes(code)) handshakes.inc({ workspace, result: code });
    },
    attempted: (workspace: string, result: string, ms: number): void => {
      if (!ATTEMPT_RESULTS.includes(result)) return;
      attempts.inc({ workspace: labelOf(workspace), result });
      durations.observe({ result }, ms / 1000);
    },
    /** Serves the metrics at `/metrics`, without authentication. Throws `unavailable` if it cannot listen. */
    serve: (address: ListenAddress): Promise<Listener> => startListener(address, toNodeListener({ answer })),
  };
}

/** Loads the peer with `require`, which a bundler does not follow. */
function loadClient(): typeof client {
  const require = createRequire(import.meta.url);
  try {
    return require("prom-client") as typeof client;
  } catch (cause) {
    if (!hasErrorCode(cause, "MODULE_NOT_FOUND")) throw cause;
    const text = isOfArchive()
      ? "--metrics-port needs prom-client, which the plugin's archive does not contain; " +
        "use a responder from npm: npm install pulumi-apichat prom-client@^15"
      : "--metrics-port needs prom-client, which is not installed; run: npm install prom-client@^15";
    throw new ApiChatError("invalid_config", text, { operation: "responder", cause });
  }
}
