/** The `apichat` command in the resource plugin's archive. tools/compile/plugin.ts bundles it into one file. */
import { setFromArchive } from "../errors/index.js";
import { runProgram } from "./program.js";

setFromArchive();
void runProgram();
