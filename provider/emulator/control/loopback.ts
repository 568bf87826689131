import { isLoopback } from "../../lib/url.js";
import { invalidOption } from "../check-options.js";

/** Throws `invalid_config` if others than this machine could drive the emulator without a token. */
export function assertTokenIfReachable({ host, token }: { host: string; token?: string | undefined }): void {
  if (token !== undefined || isLoopback(host)) return;
  throw invalidOption(
    `startEmulator: host: ${host} can be reached from other machines, and there is no token; give one, or listen on 127.0.0.1`,
  );
}
