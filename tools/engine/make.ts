import type { EngineSource } from "./engine.ts";

/** What a maker is given to work with. */
export interface MakerContext {
  env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C; the maker ends its processes then. */
  signal: AbortSignal;
  /** Says how far the work is. */
  update: (detail: string) => void;
}

/** A way to get an engine that is not there yet. */
export interface EngineMaker {
  /** As the last error names it. */
  name: string;
  source: EngineSource;
  /** What is done, and how long that takes. */
  title: string;
  /** Puts `pulumi` and its hosts into `<folder>/bin`, an empty folder; temporary files go into `folder` as well. Throws if it cannot. */
  make: (folder: string, context: MakerContext) => Promise<void>;
}
