import "../lib/require-node.js";
export { openFleet, readWorkspaceList } from "./on-demand.js";
export type { Fleet, OpenFleetOptions } from "./fleet.js";
export { runFleetCommand } from "./command.js";
export type { DeclaredWebhook, FleetDefinition, FleetProgram, FleetStack } from "./definition.js";
export type { FleetLimits } from "./limits.js";
export type { FleetEvent, PlanOptions, RotateOptions, RunOptions, UpOptions } from "./run-options.js";
export type { ChangeCounts, FleetPlan, OtherCount, PlannedStack } from "./plan.js";
export type { CreateCounts, UnknownReason } from "./plan-creates.js";
export type { UnknownCause } from "./plan-look.js";
export type {
  Drift,
  DriftedProperty,
  Failure,
  FleetAction,
  FleetReport,
  OtherChange,
  Outcome,
  StackReport,
  WebhookChange,
  WebhookReport,
} from "./reports.js";
export type { KeysByWorkspace } from "./rotation/keys.js";
export type { RotationWave } from "./rotation/waves.js";
export type { RotationReport } from "./rotation.js";
export type { DriftKind, HintedFailure } from "./repair.js";
export type { DriftReport, DriftedResource, DriftedWorkspace, WatchOptions } from "./watch.js";
export type { ResolvedStack } from "./resolve.js";
export type { Format, RenderOptions } from "./render/render.js";
export { renderPlan } from "./render/plan.js";
export { renderReport } from "./render/report.js";
export { renderRotation } from "./render/rotation.js";
export { renderDrift } from "./render/drift.js";
export { formatEnvironmentLines } from "./bot-url-lines.js";
export type { ListedWorkspace } from "../workspace-list/entry-shape.js";
export { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
