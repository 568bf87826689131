import * as z from "zod";
import { pathSegment } from "../../check-options.js";
import { parseWorkspaceOptions, type WorkspaceOptions } from "../../options.js";
import { register, unregister } from "../../workspace-state.js";
import { changeWorkspace, createWorkspace, removeWorkspace, tellOf } from "../../workspace-admin.js";
import { parseBody, workspaceOf, type ControlHandler, type ControlRoute } from "../call.js";
import { answerControl } from "../refusal.js";
import { viewWorkspace } from "../workspace-views.js";

const anything = z.record(z.string(), z.unknown());
const name = z.string().min(1);

const change = z.strictObject({
  flow: name.optional(),
  apiKey: name.optional(),
  flowApiKey: name.optional(),
  mayManageFlow: z.boolean().optional(),
  botCode: pathSegment.optional(),
  botBaseUrl: z.url().optional(),
  owner: name.optional(),
});

const takeover = z.strictObject({
  webhook_url: z.string().min(1),
  webhook_verification_key: z.string().min(1),
});

export const workspaceRoutes = {
  "GET /_emulator/workspaces": (call) =>
    answerControl([...call.state.directory.values()].map((workspace) => viewWorkspace(call, workspace))),

  "POST /_emulator/workspaces": (call) => {
    // Checked there: the same options as in code, except for a function.
    const options = parseWorkspaceOptions(parseBody(anything, call) as unknown as WorkspaceOptions);
    return answerControl(viewWorkspace(call, createWorkspace(call.state, options)), { status: 201 });
  },

  "GET /_emulator/workspaces/{name}": (call) => answerControl(viewWorkspace(call, workspaceOf(call))),

  "PATCH /_emulator/workspaces/{name}": (call) => {
    const workspace = workspaceOf(call);
    changeWorkspace(call.state, workspace, parseBody(change, call));
    return answerControl(viewWorkspace(call, workspace));
  },

  "DELETE /_emulator/workspaces/{name}": (call) => {
    removeWorkspace(call.state, workspaceOf(call).name);
    return answerControl(undefined, { status: 204 });
  },

  "PUT /_emulator/workspaces/{name}/registration": (call) => {
    const workspace = workspaceOf(call);
    register(workspace, { ...parseBody(takeover, call), webhook_status: "verified" });
    tellOf(call.state, workspace);
    return answerControl(viewWorkspace(call, workspace));
  },

  "DELETE /_emulator/workspaces/{name}/registration": (call) => {
    const workspace = workspaceOf(call);
    unregister(workspace);
    tellOf(call.state, workspace);
    return answerControl(undefined, { status: 204 });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;
