/**
 * The part of this module that the tests use. The module exists in workerd only. Its published types are not
 * used, because they would also declare every global of a Worker.
 */
declare module "cloudflare:test" {
  interface ExecutionContext {
    waitUntil(promise: Promise<unknown>): void;
  }
  export function createExecutionContext(): ExecutionContext;
  /** Waits for every promise that was passed to `waitUntil`. */
  export function waitOnExecutionContext(context: ExecutionContext): Promise<void>;
}
