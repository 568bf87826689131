/** `apichat` in the archive of the resource plugin. tools/compile/plugin.ts bundles it into one file. */
import { setFromArchive } from "../errors/index.js";
import { runProgram } from "./program.js";

setFromArchive();
void runProgram();
