/** One workspace of a list, with the defaults of the list. */
export interface ListedWorkspace {
  /** Letters, digits, "_", "-" and "."; also the name of its resources. */
  name: string;
  baseUrl: string;
  webhookUrl?: string;
  /** Another bot is then told. */
  botUrl?: string;
  /** undefined: that of the command or the environment. */
  apiKey?: string;
}

/** One workspace of a list that a plan has read: what stands there is compared with its webhook URL. */
export interface PlannedWorkspace extends ListedWorkspace {
  /** Any text: it makes no resource. */
  name: string;
  webhookUrl: string;
}
