/** The file in the data folder that holds the deliveries; SQLite has files of longer names beside it. */
export const SPOOL_FILE = "spool.sqlite";
