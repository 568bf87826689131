import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePage } from "./bundle.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

await bundlePage(join(root, "dist", "provider", "emulator", "page"));
