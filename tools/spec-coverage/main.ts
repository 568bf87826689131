import { readFileSync, writeFileSync } from "node:fs";
import { putCoverage } from "./coverage.ts";

/** Writes the table of the specification into README.md, between `<!-- coverage -->` and `<!-- /coverage -->`. */
const readme = new URL("../../README.md", import.meta.url);
const text = putCoverage(readFileSync(readme, "utf8"));
if (text === undefined)
  throw new Error("README.md: the markers <!-- coverage --> and <!-- /coverage --> are missing");
writeFileSync(readme, text);
