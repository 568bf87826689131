import { afterAll } from "vitest";
import { cleanUp } from "./http.ts";

// A set-up file: it runs for each file of tests. A hook in a module would not, where files share their workers.
afterAll(cleanUp);
