import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";

/** Loopback, private, link-local and other ranges that a service elsewhere cannot reach. */
const NOT_PUBLIC_IPV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const;

const NOT_PUBLIC_IPV6 = [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const;

const notPublic = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_IPV4) notPublic.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of NOT_PUBLIC_IPV6) notPublic.addSubnet(net, prefix, "ipv6");

/** Whether an IP address can be reached from the internet. */
export function isPublicAddress(address: string): boolean {
  return !notPublic.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** The addresses of a URL's host; none if its name does not resolve, which the handshake itself reports. */
export async function resolveHost(url: string): Promise<string[]> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch {
    return [];
  }
}
