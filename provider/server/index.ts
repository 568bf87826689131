/** What a process loads to run the server. */
export { headersToForward } from "./forwarder.js";
export { describeListenFailure, listen, reachesAddress, type Listener } from "./listener.js";
export { serveUntilSignal, type ServeOptions } from "./serve.js";
