/** How long a browser may take to begin with it. */
const KEPT_MS = 60_000;

/** Saves a value as a file of JSON. */
export function download(name: string, value: unknown): void {
  const file = new Blob([JSON.stringify(value, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
