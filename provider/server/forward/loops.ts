import { isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { ApiChatError, type FieldProblem } from "../../errors/index.js";
import { formatUrl } from "../../lib/url.js";
import type { Address } from "../listener.js";

/** A workspace: where it answers, and where it forwards. */
interface ForwardingPlace {
  name: string;
  path: string;
  forwardTo?: string | undefined;
}

const HTTP_PORT = 80;

/** Where a responder listens; no port if any free one will do, or if it is not known yet. */
interface ReachedAddress {
  host: string;
  port: number | undefined;
}

/** Says which workspaces forward to a path of the responder itself: a delivery would go round without end. */
export function problemsOfLoops(
  places: readonly ForwardingPlace[],
  address: ReachedAddress,
): { name: string; text: string }[] {
  const owners = new Map(places.map(({ name, path }) => [path, name]));
  return places.flatMap(({ name, forwardTo }) => {
    const owner = forwardTo === undefined ? undefined : ownerOf(forwardTo, { owners, address });
    if (forwardTo === undefined || owner === undefined) return [];
    const got = `${formatUrl(forwardTo)}, which is this responder's own workspace ${owner}`;
    const text = `must be the URL of your own program, got ${got}; give another, or leave it out to keep deliveries`;
    return [{ name, text }];
  });
}

/** Throws `invalid_config` for a configuration that forwards to itself where it listens, once a free port is known. */
export function refuseLoops(
  { workspaces }: { workspaces: Record<string, Omit<ForwardingPlace, "name">> },
  address: Address,
): void {
  const places = Object.entries(workspaces).map(([name, workspace]) => ({ name, ...workspace }));
  const problems = problemsOfLoops(places, address).map(({ name, text }): FieldProblem => ({
    field: `workspaces.${name}.forwardTo`,
    text,
  }));
  if (problems.length > 0) throw new ApiChatError("invalid_config", "", { operation: "responder", problems });
}

function ownerOf(
  forwardTo: string,
  { owners, address }: { owners: ReadonlyMap<string, string>; address: ReachedAddress },
): string | undefined {
  return reachesAddress(forwardTo, address) ? owners.get(new URL(forwardTo).pathname) : undefined;
}

/** Whether a URL, called on this machine, reaches what listens on an address there. */
export function reachesAddress(url: string, address: ReachedAddress): boolean {
  const parsed = URL.parse(url);
  if (parsed === null) return false;
  const { protocol, port, hostname: called } = parsed;
  if (protocol !== "http:" || Number(port || HTTP_PORT) !== address.port) return false;
  return isReachedAt(toUrlHost(address.host), called);
}

/** A host as a URL spells it. */
function toUrlHost(host: string): string {
  return URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? host;
}

/** The spellings of every address of a machine, which is also how a program on it may call its own. */
const WILDCARD = /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/;
const LOOPBACK = /^(localhost\.?|127\.0\.0\.1|\[::1\]|\[::ffff:7f00:1\])$/;

/** Whether a program on this machine that calls one host reaches what listens on another. */
function isReachedAt(listening: string, called: string): boolean {
  if (listening === called) return true;
  if (isOfLoopback(listening) && isOfLoopback(called)) return true;
  return WILDCARD.test(listening) && isOfThisMachine(called);
}

const isOfLoopback = (host: string): boolean => WILDCARD.test(host) || LOOPBACK.test(host);

function isOfThisMachine(host: string): boolean {
  if (host.startsWith("127.") || host === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => toUrlHost(address) === host),
  );
}
