/** The version of package.json, which a test holds it to: nothing is read while it runs. */
export const VERSION = "0.1.0";

/** Sent with every request of a client of ours. A handshake that it makes before the service does says more. */
export const USER_AGENT = `pulumi-apichat/${VERSION}`;
