import { BlockList, isIP } from "node:net";
import { invalidOption } from "../check-options.js";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether only this machine reaches an address to listen on. Of the names only `localhost` is known to. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, version === 6 ? "ipv6" : "ipv4");
}

/** Throws `invalid_config` if others than this machine could drive the emulator without a token. */
export function assertTokenIfReachable({ host, token }: { host: string; token?: string | undefined }): void {
  if (token !== undefined || isLoopback(host)) return;
  throw invalidOption(
    `startEmulator: host: ${host} can be reached from other machines, and there is no token; give one, or listen on 127.0.0.1`,
  );
}
