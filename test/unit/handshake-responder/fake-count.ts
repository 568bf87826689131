/** Counts what the fake responder keeps: one byte of its spool is one delivery. */
import { statSync } from "node:fs";
import { join } from "node:path";

const [, , dataDir = ""] = process.argv;
const { size } = statSync(join(dataDir, "spool.sqlite"));
console.log(size === 13 ? "broken" : size);
