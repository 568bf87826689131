import { startChild, type Child } from "./child.ts";
import { createProject, type Project, type Side } from "./project.ts";
import type { ServiceReport } from "./service.ts";

/** The service in another process, and one project for each side. */
export interface Bed<Name extends Side> {
  service: Child<ServiceReport>;
  projects: Record<Name, Project>;
}

/** Runs `work` on a bed of so many workspaces, and removes all of it afterwards. */
export async function withBed<Name extends Side, Result>(
  { sides, workspaces, signal }: { sides: readonly Name[]; workspaces: number; signal: AbortSignal },
  work: (bed: Bed<Name>) => Promise<Result>,
): Promise<Result> {
  const service = await startChild<ServiceReport>(new URL("service.ts", import.meta.url), [
    String(workspaces),
  ]);
  const projects: Partial<Record<Side, Project>> = {};
  try {
    for (const side of sides) projects[side] = await createProject(side, { service: service.ready, signal });
    return await work({ service, projects: projects as Record<Name, Project> });
  } finally {
    await Promise.all([service.stop(), ...Object.values(projects).map((project) => project.remove())]);
  }
}
