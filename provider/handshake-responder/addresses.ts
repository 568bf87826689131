/** Where the process listens by default. */
export const DEFAULT_HOST = "127.0.0.1";

/** Addresses that mean every interface. They cannot be called, so URLs name this machine instead. */
const EVERY_INTERFACE = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Host and port as they stand in a URL; also the id of the process. */
export const authorityOf = (host: string, port: number): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** The port of an id that {@link authorityOf} made; 0 for any other id, such as one of a user's mocks. */
export const portOfId = (id: string): number => Number(id.slice(id.lastIndexOf(":") + 1)) || 0;

/** The origin under which a process on this machine is reached. */
export const originOf = (host: string, port: number): string =>
  `http://${authorityOf(EVERY_INTERFACE.get(host) ?? host, port)}`;

/** Puts a path behind a base, which may have a path of its own. */
export const joinUrl = (base: string, path: string): string => base.replace(/\/+$/, "") + path;

/** The port to listen on: the one that the program names, else the one that was had so far. */
export const choosePort = (given: number | undefined, former: number): number => given || former;

/** Project, stack and name of a resource as the parts of a path, whatever is in them. */
export const instanceKeyOf = (parts: readonly [project: string, stack: string, name: string]): string =>
  parts
    .map((part) => encodeURIComponent(part).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E")))
    .join("/");
