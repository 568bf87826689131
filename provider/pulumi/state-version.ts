import { ApiChatError } from "../errors/index.js";
import { VERSION } from "../lib/version.js";

interface Versioned {
  /** Absent in a read by ID, which has no state. */
  stateVersion?: number;
  /** The first release that reads this version. Absent in version 1, which all releases read. */
  neededRelease?: string;
}

/** `instead` is the error text for a read by ID. */
export function requireStateVersion(
  { stateVersion, neededRelease }: Versioned,
  version: number,
  instead: string,
): void {
  if (stateVersion === version) return;
  const needed = neededRelease ? `pulumi-apichat ${neededRelease} or newer` : "the release that wrote it";
  const versions =
    `the state has version ${JSON.stringify(stateVersion)}, but ` +
    `pulumi-apichat ${VERSION} reads version ${version}`;
  const summary = stateVersion === undefined ? instead : `${versions}: install ${needed}`;
  throw new ApiChatError("invalid_config", summary, { operation: "check" });
}
