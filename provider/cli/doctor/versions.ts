import { createRequire } from "node:module";

interface OwnPackage {
  engines: { node: string };
  peerDependencies: Record<string, string>;
}

const own = createRequire(import.meta.url)("pulumi-apichat/package.json") as OwnPackage;

/** The oldest Node that the package runs on, such as `22.19`. */
export const LEAST_NODE = leastOf(own.engines.node);

/** The oldest Pulumi, of the command line and of its library. */
export const LEAST_PULUMI = leastOf(own.peerDependencies["@pulumi/pulumi"] ?? "");

/** Whether a version is older than another; what is behind the numbers, such as `-beta.1`, does not count. */
export function isOlder(version: string, least: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(least)];
  const different = b.findIndex((number, index) => (a[index] ?? 0) !== number);
  return different >= 0 && (a[different] ?? 0) < (b[different] ?? 0);
}

/** The first number of a version. */
export const majorOf = (version: string): number => numbersOf(version)[0] ?? 0;

function leastOf(range: string): string {
  const [least] = /\d+(\.\d+)*/.exec(range) ?? [""];
  return least;
}

const numbersOf = (version: string): number[] =>
  (/\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
