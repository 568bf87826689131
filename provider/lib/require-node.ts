/** Import this before anything that loads undici, which fails on an older Node with an unhelpful stack trace. */
import { ApiChatError } from "../errors/index.js";
import { oldNodeProblem } from "./version.js";

const problem = oldNodeProblem("pulumi-apichat");
if (problem !== undefined) throw new ApiChatError("invalid_config", problem, { operation: "check" });
