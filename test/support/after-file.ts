import { afterAll } from "vitest";
import { cleanUp } from "./http.ts";

// A set-up file such as this runs for each test file, so each test file gets the hook. An imported module runs
// only once in each worker, so only the worker's first test file would get the hook from it.
afterAll(cleanUp);
