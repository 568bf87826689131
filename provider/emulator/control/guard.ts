import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { EmulatorState } from "../emulator-state.js";
import type { EmulatorApp } from "../http-server.js";
import { isLoopback } from "../../lib/url.js";
import { answerRefusal, ControlRefusal } from "./refusal.js";

/** The path of the page; links to it from elsewhere may be followed. */
export const PAGE_PATH = "/_emulator/";

/**
 * Refuses what a web page from elsewhere can make a browser send: a request to a name that was made to point here (DNS
 * rebinding), and one from another origin. Throws a ControlRefusal.
 */
export function assertFromHere(state: EmulatorState, incoming: IncomingMessage): void {
  const { host = "", origin, "sec-fetch-site": site } = incoming.headers;
  if (!isOwnHost(state, incoming, host)) {
    throw forbidden("the Host header names another server; open the emulator at the address it listens on");
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    throw forbidden("the request comes from a page of another origin");
  }
  const isElsewhere = site === "cross-site" || site === "same-site";
  if (isElsewhere && !isFollowedLink(incoming))
    throw forbidden("the request comes from a page of another site");
}

/**
 * Guards the service's own interface on a port that only this machine reaches: the keys of a test are no secret, so a web page
 * could read and change a registration with them. Elsewhere the interface is as open as the service's.
 */
export function addGuard(app: EmulatorApp, state: EmulatorState): void {
  if (!isLoopback(state.settings.host)) return;
  app.use(async ({ env }, next) => {
    try {
      assertFromHere(state, env.incoming);
    } catch (error) {
      if (error instanceof ControlRefusal) return answerRefusal(error);
      throw error;
    }
    return next();
  });
}

function isOwnHost(state: EmulatorState, { socket }: IncomingMessage, host: string): boolean {
  const { settings } = state;
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  if (url === undefined || url.host !== host.toLowerCase().replace(/:80$/, "")) return false;
  // The names of an address that is not this machine's own are unknown; there the token is the gate.
  if (settings.token !== undefined && !isLoopback(settings.host)) return true;
  const own = ["localhost", "127.0.0.1", "[::1]", bracketed(settings.host.toLowerCase())];
  return own.includes(url.hostname) && Number(url.port || 80) === socket.localPort;
}

const bracketed = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** A link or bookmark that opens the page in a tab; a frame is not one, and nothing is changed by it. */
function isFollowedLink({ method, url = "", headers }: IncomingMessage): boolean {
  const isPage = url === PAGE_PATH || url.startsWith(`${PAGE_PATH}?`);
  return isPage && method === "GET" && headers["sec-fetch-dest"] === "document";
}

const forbidden = (message: string): ControlRefusal => new ControlRefusal(403, "forbidden", message);
