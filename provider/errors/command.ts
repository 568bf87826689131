let isFromArchive = false;

/** Declares that this process is from the archive of the resource plugin, whose users may have no npm. */
export const setFromArchive = (): void => void (isFromArchive = true);

export const isOfArchive = (): boolean => isFromArchive;

/** Without `--package`, npx would run a package named `apichat` from the registry, which is not this one. */
export const commandLine = (): string => (isFromArchive ? "apichat" : "npx --package pulumi-apichat apichat");
