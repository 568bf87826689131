/** What every side of the rows on the engine has in common. The keys open nothing. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** The names of so many workspaces. */
export const workspaceNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`);

export const baseUrlOf = (serviceUrl: string, name: string): string => `${serviceUrl}/${name}/apichat`;
