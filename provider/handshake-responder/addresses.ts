import { defaultPath, toWirePath } from "../lib/url.js";

/** Addresses that mean every interface. They cannot be called, so URLs use the loopback address instead. */
const EVERY_INTERFACE = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Host and port as written in a URL; also the ID of the process. */
export const authorityOf = (host: string, port: number): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** The port of an ID from {@link authorityOf}; 0 for any other ID, such as one from a user's mocks. */
export const portOfId = (id: string): number => Number(id.slice(id.lastIndexOf(":") + 1)) || 0;

/** The origin at which a process on this machine can be reached. */
export const originOf = (host: string, port: number): string =>
  `http://${authorityOf(EVERY_INTERFACE.get(host) ?? host, port)}`;

/** Returns the URL that the service is given for a workspace. */
export const webhookUrlOf = (base: string, workspace: string, path = defaultPath(workspace)): string =>
  joinUrl(base, toWirePath(path));

/** Appends a path to a base, which may have its own path. */
export const joinUrl = (base: string, path: string): string => base.replace(/\/+$/, "") + path;

/** The port to listen on: the program's, or else the previous one. */
export const choosePort = (given: number | undefined, former: number): number => given || former;

/** The project, stack and name of a resource as path segments; special characters are escaped. */
export const instanceKeyOf = (parts: readonly [project: string, stack: string, name: string]): string =>
  parts
    .map((part) => encodeURIComponent(part).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E")))
    .join("/");
