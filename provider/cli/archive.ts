/** `apichat` in the archive of the resource plugin, as one file: see tools/compile/plugin.ts. */
import { setFromArchive } from "../errors/index.js";
import { runProgram } from "./program.js";

setFromArchive();
void runProgram();
