import { writeFileSync } from "node:fs";
import { coveragePage, formatCoverage } from "./coverage.ts";

/** Writes docs/spec-coverage.md. */
writeFileSync(coveragePage, formatCoverage());
