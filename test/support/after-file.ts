import { afterAll } from "vitest";
import { cleanUp } from "./http.ts";

// A set-up file runs for each test file, so this hook is added each time. Test files share workers, so a hook
// in a module that they import would be added only for the first file.
afterAll(cleanUp);
