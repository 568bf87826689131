import { readFileSync } from "node:fs";
import process from "node:process";
import { formatCoverage, putCoverage } from "./coverage.ts";

/**
 * Prints the table of what the emulator covers of the specification; with `--check` it prints nothing and exits 1 if the
 * README's part between `<!-- coverage -->` and `<!-- /coverage -->` is another.
 */
function main(): void {
  if (!process.argv.includes("--check")) {
    console.log(formatCoverage());
    return;
  }
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  if (putCoverage(readme) === readme) {
    console.log("README.md: the table of coverage is up to date");
    return;
  }
  console.error(
    "README.md: the table between <!-- coverage --> and <!-- /coverage --> is missing or not what the sources say; " +
      "put there what this prints: node tools/spec-coverage/main.ts",
  );
  process.exitCode = 1;
}

main();
