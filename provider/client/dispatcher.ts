import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { CALLS_PER_ORIGIN } from "./origin-gate.js";

const PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];

let shared: Dispatcher | undefined;

/** The connection pool of this process: kept alive, and through the environment's proxies where it names any. */
export function sharedDispatcher(): Dispatcher {
  return (shared ??= createDispatcher({ connections: CALLS_PER_ORIGIN }));
}

/** A pool of its own: kept alive, and through the environment's proxies where it names any. */
export function createDispatcher(settings: { connections: number; allowH2?: boolean }): Dispatcher {
  const options = { ...settings, keepAliveTimeout: 30_000 };
  const proxied = PROXY_VARIABLES.some((name) => process.env[name]);
  return proxied ? new EnvHttpProxyAgent(options) : new Agent(options);
}
