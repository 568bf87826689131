import type { IncomingMessage } from "node:http";
import { isLoopback } from "../../lib/url.js";
import { HttpError } from "../request-checks.js";
import type { Settings } from "../options.js";

/** The path of the page. Other sites may link to it. */
export const PAGE_PATH = "/_emulator/";

/**
 * Throws an HttpError if a web page of another site may have caused the request, either directly or by DNS
 * rebinding.
 */
export function assertSameOrigin(settings: Settings, incoming: IncomingMessage): void {
  const { host = "", origin, "sec-fetch-site": site } = incoming.headers;
  if (!isOwnHost(settings, incoming, host)) {
    throw forbidden("the Host header names a different server; open the emulator at its own address");
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    throw forbidden("the request comes from a page of a different origin");
  }
  const isElsewhere = site === "cross-site" || site === "same-site";
  if (isElsewhere && !isFollowedLink(incoming))
    throw forbidden("the request comes from a page of a different site");
}

function isOwnHost({ host: listening }: Settings, { socket }: IncomingMessage, host: string): boolean {
  const url = URL.parse(`http://${host}`);
  if (url === null || url.host !== host.toLowerCase().replace(/:80$/, "")) return false;
  // On a non-loopback address, the emulator does not know its host names: the token protects it instead.
  if (!isLoopback(listening)) return true;
  return isLoopback(url.hostname) && Number(url.port || 80) === socket.localPort;
}

/** Whether a link or bookmark opens the page in a tab, not in a frame. */
function isFollowedLink({ method, url = "", headers }: IncomingMessage): boolean {
  const isPage = url === PAGE_PATH || url.startsWith(`${PAGE_PATH}?`);
  return isPage && method === "GET" && headers["sec-fetch-dest"] === "document";
}

const forbidden = (message: string): HttpError => new HttpError(403, message);
