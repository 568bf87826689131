/**
 * A program of its own: prints how many deliveries lie in the data folder that its only argument names. The provider
 * starts it, because it loads no SQLite itself.
 */
import { join } from "node:path";
import { openSpool } from "../server/spool/spool.js";
import { SPOOL_FILE } from "../server/names.js";

const [, , dataDir = ""] = process.argv;
const spool = openSpool(join(dataDir, SPOOL_FILE), { create: false });
try {
  const counts = [...spool.counts().values()];
  console.log(counts.reduce((sum, { pending, deadLetters }) => sum + pending + deadLetters, 0));
} finally {
  spool.close();
}
