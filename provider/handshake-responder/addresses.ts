import { isUnknown, UNKNOWN } from "../pulumi/unknown.js";
import { DEFAULT_HOST, defaultPath, HEALTH_PATH, toWirePath } from "../server/addresses.js";

/** Addresses that stand for all interfaces. No client can connect to them, so URLs contain a loopback address. */
const EVERY_INTERFACE = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Host and port as written in a URL; also the ID of the process's resource. */
export const authorityOf = (host: string, port: number): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** The port of an ID from {@link authorityOf}; 0 for any other ID, such as one from a user's mocks. */
export const portOfId = (id: string): number => Number(id.slice(id.lastIndexOf(":") + 1)) || 0;

interface AddressParts {
  host?: string | undefined;
  port: number | typeof UNKNOWN;
  publicUrl?: string | undefined;
  workspaces: Record<string, { path?: string | undefined } | typeof UNKNOWN> | typeof UNKNOWN;
}

/** Returns the URL to register for each workspace. A URL is unknown while a part of it is unknown. */
export function urlsOf({ workspaces, ...place }: AddressParts): Record<string, string> | typeof UNKNOWN {
  if (typeof workspaces === "string") return UNKNOWN;
  const base = place.publicUrl ?? originOf(place);
  const urls = Object.entries(workspaces).map(([name, workspace]) => {
    const path = typeof workspace === "string" ? UNKNOWN : (workspace.path ?? defaultPath(name));
    return [name, isUnknown([base, path]) ? UNKNOWN : joinUrl(base, toWirePath(path))];
  });
  return Object.fromEntries(urls) as Record<string, string>;
}

/** Returns the URL of the health check, which uses host and port even if there is a public URL. */
export function healthUrlOf(place: Pick<AddressParts, "host" | "port">): string {
  const origin = originOf(place);
  return origin === UNKNOWN ? UNKNOWN : joinUrl(origin, HEALTH_PATH);
}

const originOf = ({ host = DEFAULT_HOST, port }: Pick<AddressParts, "host" | "port">): string =>
  typeof port === "string" || host === UNKNOWN
    ? UNKNOWN
    : `http://${authorityOf(EVERY_INTERFACE.get(host) ?? host, port)}`;

const joinUrl = (base: string, path: string): string => base.replace(/\/+$/, "") + path;
