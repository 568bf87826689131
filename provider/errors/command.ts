let isFromArchive = false;

/** Declares that this process runs from the plugin's release archive, so its user may not have npm. */
export const setFromArchive = (): void => void (isFromArchive = true);

export const isOfArchive = (): boolean => isFromArchive;

/** Without `--package`, npx would run an unrelated package named `apichat` from the registry. */
export const commandLine = (): string => (isFromArchive ? "apichat" : "npx --package pulumi-apichat apichat");
