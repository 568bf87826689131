import type { TestProject } from "vitest/node";
import { startBrowser } from "../support/browser.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The browser of all test files, for `chromium.connect`. */
    browserEndpoint: string;
  }
}

/** One browser for all files: unpacking it takes longer than most of them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { endpoint, close } = await startBrowser();
  project.provide("browserEndpoint", endpoint);
  return close;
}
