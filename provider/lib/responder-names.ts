/** The path that answers 200, or 503 while deliveries cannot be stored, unless its configuration names another. */
export const HEALTH_PATH = "/healthz";

/** A workspace's name in a configuration; it is used in paths, logs and on command lines. */
export const WORKSPACE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The path of a workspace that names none. */
export const defaultPath = (workspace: string): string => `/${workspace}`;

/** The file in the data folder that holds the deliveries; SQLite has files of longer names beside it. */
export const SPOOL_FILE = "spool.sqlite";

/** A path as a client sends it: what is not ASCII in percent encoding. */
export const toWirePath = (path: string): string => new URL(`http://localhost${path}`).pathname;
