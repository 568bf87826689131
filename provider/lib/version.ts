/** The version in package.json. A test keeps them equal, so that nothing needs to be read at run time. */
export const VERSION = "0.1.0";

/** Sent with every request of a client of ours. A handshake that it makes before the service does says more. */
export const USER_AGENT = `pulumi-apichat/${VERSION}`;

/** The user agent of every handshake that we send, so that a receiver can tell it from the service's. */
export const PREFLIGHT_USER_AGENT = `${USER_AGENT} (preflight)`;

/** Whether a request says that it is this package's, of any version. Any sender can say so. */
export const looksLikePreflight = (userAgent = ""): boolean =>
  /^pulumi-apichat\/\S+ \(preflight\)$/.test(userAgent);

/** The oldest Node that the package runs on: `engines` of package.json. */
export const MIN_NODE = "22.19";

/** The oldest Pulumi, of the command line and of its library: `peerDependencies` of package.json. */
export const MIN_PULUMI = "3.216.0";

/** What to do about a Node that is too old for `what`; undefined if this one is new enough. */
export function oldNodeProblem(what: string): string | undefined {
  const { node } = process.versions;
  if (!isOlder(node, MIN_NODE)) return undefined;
  return `${what} needs Node ${MIN_NODE} or newer, this is ${node}; install it from https://nodejs.org, or put a newer one first in PATH`;
}

/** Whether a version is older than another; what is behind the numbers, such as `-beta.1`, does not count. */
export function isOlder(version: string, least: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(least)];
  const different = b.findIndex((number, index) => (a[index] ?? 0) !== number);
  return different >= 0 && (a[different] ?? 0) < (b[different] ?? 0);
}

/** The first number of a version. */
export const majorOf = (version: string): number => numbersOf(version)[0] ?? 0;

const numbersOf = (version: string): number[] =>
  (/\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
