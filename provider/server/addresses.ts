/** A separate entry file that loads nothing, because a program needs these addresses but neither zod nor HTTP. */

/** Where a responder listens by default: this machine only. */
export const DEFAULT_HOST = "127.0.0.1";

/** The default health check path. It answers 200, or 503 if only a restart would help. */
export const HEALTH_PATH = "/healthz";
/** The ready path. It answers 200, or 503 while deliveries cannot be stored or the responder is about to stop. */
export const READY_PATH = "/readyz";

export const defaultPath = (workspace: string): string => `/${workspace}`;

/** Returns a path as a client sends it, with non-ASCII characters percent-encoded. */
export const toWirePath = (path: string): string => new URL(`http://localhost${path}`).pathname;
