import { readFileSync } from "node:fs";
import packageJson from "../../package.json" with { type: "json" };
import { inClone } from "../lib/clone.ts";

interface Lock {
  packages: Record<string, { version: string; dependencies?: Record<string, string> }>;
}

/**
 * Returns the package.json and package-lock.json of examples/docker, keyed by path. They list this version of the
 * package (a tarball), prom-client, and the dependencies of both, as in our own lock file.
 */
export function generateImageLock(): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(inClone("package-lock.json"), "utf8")) as Lock;
  const find = (path: string) => {
    const found = packages[path];
    if (found === undefined) throw new Error(`package-lock.json has no "${path}", which the image needs`);
    return found;
  };
  const { name, version } = packageJson;
  const metrics = "prom-client";
  const tarball = `file:${name}-${version}.tgz`;
  const dependencies = { [metrics]: find(`node_modules/${metrics}`).version, [name]: tarball };
  const own = { ...find(""), version, resolved: tarball, name: undefined, devDependencies: undefined };
  const locked: Record<string, unknown> = { "": { dependencies }, [`node_modules/${name}`]: own };
  const needed = [metrics, ...Object.keys(own.dependencies ?? {})];
  // This loop extends the list that it iterates over by each package's dependencies.
  for (const one of needed) {
    const path = `node_modules/${one}`;
    const found = find(path);
    // Drops npm's marks: a development dependency of this project may be a dependency of the image.
    locked[path] = { ...found, dev: undefined, devOptional: undefined, optional: undefined, peer: undefined };
    needed.push(...Object.keys(found.dependencies ?? {}).filter((next) => !needed.includes(next)));
  }
  const sorted = Object.fromEntries(Object.entries(locked).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return {
    "examples/docker/package.json": toText({ private: true, dependencies }),
    "examples/docker/package-lock.json": toText({ lockfileVersion: 3, requires: true, packages: sorted }),
  };
}

const toText = (content: object): string => `${JSON.stringify(content, undefined, 2)}\n`;
