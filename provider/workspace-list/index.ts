export type { ListedWorkspace, PlannedWorkspace } from "./list-shape.js";
export { checkWorkspaces, readPlannedWorkspaces, readWorkspaceList } from "./read.js";
