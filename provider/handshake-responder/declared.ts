/**
 * What this run's program declares. The provider is one process for a whole run, so this table sees two resources for one
 * folder, and it sees that a resource to be deleted is only the old name of one that lives: the engine creates a renamed
 * resource first and deletes the old one last.
 */
const namesByDataDir = new Map<string, Set<string>>();
const portsByDataDir = new Map<string, number>();

/** Records that the program declares a folder. Returns the name of another resource that declares the same one. */
export function declareDataDir(dataDir: string, name: string): string | undefined {
  for (const names of namesByDataDir.values()) names.delete(name);
  const names = namesByDataDir.get(dataDir) ?? new Set();
  namesByDataDir.set(dataDir, names.add(name));
  return otherNameOf(dataDir, name);
}

/** The name of another resource of this run's program that declares a folder. */
export const otherNameOf = (dataDir: string, name: string): string | undefined =>
  [...(namesByDataDir.get(dataDir) ?? [])].find((other) => other !== name);

/** Remembers the port of a stopped process, so that its replacement in the same run uses it again. */
export function rememberPort(dataDir: string, port: number): void {
  portsByDataDir.set(dataDir, port);
}

export const rememberedPort = (dataDir: string): number | undefined => portsByDataDir.get(dataDir);

/** Clears everything, for a process that serves several runs. */
export function forgetDeclared(): void {
  namesByDataDir.clear();
  portsByDataDir.clear();
}
