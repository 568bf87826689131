/** How long a start may take until the process answers, in milliseconds. */
export const START_MS = 20_000;

/** How long a graceful stop may take, in milliseconds. A kill after that loses nothing that was acknowledged. */
export const STOP_MS = 20_000;

/** How long a killed process may take to be gone, in milliseconds. */
export const KILL_MS = 5_000;

/** How long to wait between two looks, in milliseconds. */
export const LOOK_EVERY_MS = 50;
