/**
 * Keeps the one warning about node:sqlite that Node 22 prints off stderr, where the log is. Other warnings are shown as
 * before. Call it before anything loads node:sqlite.
 */
export function hideSqliteWarning(): void {
  const listeners = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite")) return;
    for (const listener of listeners) listener(warning);
  });
}
