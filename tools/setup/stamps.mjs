import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/**
 * A step of the set-up that need not run again while the contents of its inputs stay the same.
 *
 * @typedef {object} Step
 * @property {string} stamp a file that holds the digest of the inputs of the last run
 * @property {readonly string[]} inputs files, or folders with all the sources in them
 * @property {readonly string[]} outputs what the step makes; it runs again if one of them is gone
 */

/**
 * True if the step has to run: never run, an input changed, an output missing.
 *
 * @param {Step} step
 */
export async function isDue({ stamp, inputs, outputs }) {
  if (!existsSync(stamp) || !outputs.every((path) => existsSync(path))) return true;
  return (await readFile(stamp, "utf8")) !== (await digest(inputs));
}

/**
 * Does the step if it is due. The stamp goes away before the work and comes back after it with what the inputs were at
 * the start: a step that was broken off, or whose inputs changed meanwhile, runs again.
 *
 * @param {Step} step
 * @param {() => Promise<unknown>} work
 */
export async function runIfDue(step, work) {
  if (!(await isDue(step))) return;
  const before = await digest(step.inputs);
  await rm(step.stamp, { force: true });
  await work();
  await writeFile(step.stamp, before);
}

/** @param {readonly string[]} inputs */
async function digest(inputs) {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const input of inputs) {
    const isFile = /\.\w+$/.test(input);
    const names = isFile ? [""] : (await readdir(input, { recursive: true })).toSorted();
    for (const name of names) {
      if (!isFile && !/\.(?:tsx?|css|html)$/.test(name)) continue;
      hash.update(`\0${input}/${name}\0`).update(await readFile(isFile ? input : join(input, name)));
    }
  }
  return hash.digest("hex");
}
