import { readFileSync } from "node:fs";

interface Locked {
  version: string;
  dependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, Locked> & { "": Locked & { name: string } };
}

/**
 * Returns package.json and package-lock.json of examples/docker, by file name: this version of the package from its tarball, and
 * prom-client, with the packages that both need as our own lock file names them.
 */
export function generateImageLock(): [file: string, text: string][] {
  const read = (file: string): unknown =>
    JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
  const ours = (read("package-lock.json") as Lock).packages;
  const { name, version, license, bin, engines, dependencies, peerDependencies, peerDependenciesMeta } = read(
    "package.json",
  ) as Record<string, unknown> & Lock["packages"][""];
  const resolved = `file:${name}-${version}.tgz`;
  const wanted = {
    private: true,
    dependencies: { "prom-client": ours["node_modules/prom-client"]?.version, [name]: resolved },
  };
  const packages: Record<string, unknown> = {
    "": { dependencies: wanted.dependencies },
    [`node_modules/${name}`]: {
      version,
      resolved,
      license,
      bin,
      engines,
      dependencies,
      peerDependencies,
      peerDependenciesMeta,
    },
  };
  const names = ["prom-client", ...Object.keys(dependencies ?? {})];
  // It grows while it is read.
  for (const one of names) {
    const path = `node_modules/${one}`;
    const found = ours[path];
    if (found === undefined) throw new Error(`package-lock.json has no ${path}, which the image needs`);
    packages[path] = {
      ...found,
      dev: undefined,
      optional: undefined,
      devOptional: undefined,
      peer: undefined,
    };
    names.push(...Object.keys(found.dependencies ?? {}).filter((next) => !names.includes(next)));
  }
  const sorted = Object.fromEntries(Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const lock = { lockfileVersion: 3, requires: true, packages: sorted };
  return Object.entries({ "package.json": wanted, "package-lock.json": lock }).map(([file, content]) => [
    `examples/docker/${file}`,
    `${JSON.stringify(content, undefined, 2)}\n`,
  ]);
}
