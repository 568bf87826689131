import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "../../lib/url.js";
import { HttpError } from "../errors.js";
import type { Settings } from "../options.js";

/** The path of the page; links to it from elsewhere may be followed. */
export const PAGE_PATH = "/_emulator/";

/**
 * Refuses what a web page from elsewhere can make a browser send: a request to a name that was made to point here (DNS
 * rebinding), and one from another origin. Throws an HttpError.
 */
export function assertSameOrigin(settings: Settings, incoming: IncomingMessage): void {
  const { host = "", origin, "sec-fetch-site": site } = incoming.headers;
  if (!isOwnHost(settings, incoming, host)) {
    throw forbidden("the Host header names another server; open the emulator at the address it listens on");
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    throw forbidden("the request comes from a page of another origin");
  }
  const isElsewhere = site === "cross-site" || site === "same-site";
  if (isElsewhere && !isFollowedLink(incoming))
    throw forbidden("the request comes from a page of another site");
}

function isOwnHost({ host: listening, token }: Settings, { socket }: IncomingMessage, host: string): boolean {
  const url = URL.parse(`http://${host}`);
  if (url === null || url.host !== host.toLowerCase().replace(/:80$/, "")) return false;
  // The names of an address that is not this machine's own are unknown; there the token is the gate.
  if (token !== undefined && !isLoopback(listening)) return true;
  const bracketed = isIP(listening) === 6 ? `[${listening.toLowerCase()}]` : listening.toLowerCase();
  const own = ["localhost", "127.0.0.1", "[::1]", bracketed];
  return own.includes(url.hostname) && Number(url.port || 80) === socket.localPort;
}

/** A link or bookmark that opens the page in a tab; a frame is not one, and nothing is changed by it. */
function isFollowedLink({ method, url = "", headers }: IncomingMessage): boolean {
  const isPage = url === PAGE_PATH || url.startsWith(`${PAGE_PATH}?`);
  return isPage && method === "GET" && headers["sec-fetch-dest"] === "document";
}

const forbidden = (message: string): HttpError => new HttpError(403, message);
