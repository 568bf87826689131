import { fileURLToPath } from "node:url";

/** Returns the absolute path of a file in this clone. */
export const inClone = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The folder of this clone, with a `/` at its end. */
export const clone = inClone("");
