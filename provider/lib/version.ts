/** The version of package.json, which a test holds it to: nothing is read while it runs. */
export const VERSION = "0.1.0";

/** Sent with every request of a client of ours. A handshake that it makes before the service does says more. */
export const USER_AGENT = `pulumi-apichat/${VERSION}`;

/** Of every handshake that is not the service's, so that a receiver can tell them apart. */
export const PREFLIGHT_USER_AGENT = `${USER_AGENT} (preflight)`;

/** Whether a request says that it is this package's, of any version. Any sender can say so. */
export const looksLikePreflight = (userAgent = ""): boolean =>
  /^pulumi-apichat\/\S+ \(preflight\)$/.test(userAgent);
