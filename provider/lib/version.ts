/** The version in package.json, repeated here so that no file is read at run time. A test keeps both equal. */
export const VERSION = "0.1.0";

export const USER_AGENT = `pulumi-apichat/${VERSION}`;

/** The user agent of our handshakes, so that a receiver can tell them from the service's. */
export const PREFLIGHT_USER_AGENT = `${USER_AGENT} (preflight)`;

/** Whether a user agent is that of our handshakes, in any version. Any sender can forge it. */
export const looksLikePreflight = (userAgent = ""): boolean =>
  /^pulumi-apichat\/\S+ \(preflight\)$/.test(userAgent);

/** The oldest supported Node: `engines` of package.json. */
export const MIN_NODE = "22.19";

/** The oldest supported Pulumi CLI and SDK: `peerDependencies` of package.json. */
export const MIN_PULUMI = "3.216.0";

/** Returns what to do if this Node is too old for `what`, or undefined if it is new enough. */
export function oldNodeProblem(what: string): string | undefined {
  const { node } = process.versions;
  if (!isOlder(node, MIN_NODE)) return undefined;
  return (
    `${what} needs Node ${MIN_NODE} or newer, but this is ${node}; install it from https://nodejs.org, ` +
    "or put a newer one first in PATH"
  );
}

/** Whether a version is older than another. Suffixes such as `-beta.1` are ignored. */
export function isOlder(version: string, least: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(least)];
  const different = b.findIndex((number, index) => (a[index] ?? 0) !== number);
  return different >= 0 && (a[different] ?? 0) < (b[different] ?? 0);
}

const numbersOf = (version: string): number[] =>
  (/\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
