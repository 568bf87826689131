/** The keys of the service and the endpoint. They open nothing. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** The names of so many workspaces. */
export const workspaceNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`);
