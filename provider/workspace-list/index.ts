export type { ListedWorkspace } from "./list-shape.js";
export { isReady, planWebhooks, type PlanState } from "./plan.js";
export { checkWorkspaces, readPlannedWorkspaces, readWorkspaceList } from "./read.js";
