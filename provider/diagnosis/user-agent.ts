import { USER_AGENT } from "../lib/version.js";

/** Of every handshake that is not the service's, so that a receiver can tell them apart. */
export const PREFLIGHT_USER_AGENT = `${USER_AGENT} (preflight)`;

/** Whether a request says that it is this package's, of any version. Any sender can say so. */
export const looksLikePreflight = (userAgent = ""): boolean =>
  /^pulumi-apichat\/\S+ \(preflight\)$/.test(userAgent);
