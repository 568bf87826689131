let isFromArchive = false;

/** Declares that this process is from a release archive of the plugin, whose users may not have npm. */
export const setFromArchive = (): void => void (isFromArchive = true);

export const isOfArchive = (): boolean => isFromArchive;

/** Without `--package`, npx would run an unrelated package from the registry, named `apichat`. */
export const commandLine = (): string => (isFromArchive ? "apichat" : "npx --package pulumi-apichat apichat");
