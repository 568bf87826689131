/**
 * The part of the module that the tests use. It exists in workerd only, and its own types would add those of
 * all Workers.
 */
declare module "cloudflare:test" {
  interface ExecutionContext {
    waitUntil(promise: Promise<unknown>): void;
  }
  export function createExecutionContext(): ExecutionContext;
  /** Waits for every promise that was passed to `waitUntil`. */
  export function waitOnExecutionContext(context: ExecutionContext): Promise<void>;
}
