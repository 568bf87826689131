/** The part that is used of the module that exists in workerd only: the real types would bring in those of all Workers. */
declare module "cloudflare:test" {
  interface ExecutionContext {
    waitUntil(promise: Promise<unknown>): void;
  }
  export function createExecutionContext(): ExecutionContext;
  /** Waits for everything that was given to `waitUntil`. */
  export function waitOnExecutionContext(context: ExecutionContext): Promise<void>;
}
