/** What a server that takes messages and sends replies says of itself. */
export interface RelayReport {
  /** Where messages go. */
  url: string;
  flowApiKey: string;
}
