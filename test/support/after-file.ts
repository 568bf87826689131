import { afterAll } from "vitest";
import { cleanUp } from "./http.ts";

// A set-up file, which runs for each test file. A module-level hook would not, because test files share
// workers.
afterAll(cleanUp);
