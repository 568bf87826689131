/** The version of package.json, which a test holds it to: nothing is read while it runs. */
export const VERSION = "0.1.0";

/** Sent with every request of a client of ours, also where it makes the handshake before the service does. */
export const USER_AGENT = `pulumi-apichat/${VERSION}`;
