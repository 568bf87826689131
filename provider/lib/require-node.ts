/** Imported first by whoever loads undici: on an older Node that fails in the middle, with a stack of its own. */
import { ApiChatError } from "../errors/index.js";
import { oldNodeProblem } from "./version.js";

const problem = oldNodeProblem("pulumi-apichat");
if (problem !== undefined) throw new ApiChatError("invalid_config", problem, { operation: "check" });
