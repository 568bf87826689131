let isFromArchive = false;

/** Declares that this process is from the archive of the resource plugin, whose users may have no npm. */
export const setFromArchive = (): void => void (isFromArchive = true);

/** Whether this process is from the archive of the resource plugin. Otherwise it is from the npm package. */
export const isOfArchive = (): boolean => isFromArchive;

/**
 * Returns how the user of this process starts the command line. Without `--package`, in a folder without the
 * npm package, npx would run a package named `apichat` from the registry, which is not this one.
 */
export const commandLine = (): string => (isFromArchive ? "apichat" : "npx --package pulumi-apichat apichat");
