import { afterAll } from "vitest";
import { cleanUp } from "./http.ts";

// This hook is in a set-up file, which runs for each test file. In a module it would run only for the first,
// because test files share workers.
afterAll(cleanUp);
