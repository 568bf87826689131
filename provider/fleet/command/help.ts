import { ENDINGS, JSON_FAILURES } from "../../cli/output.js";

/** How `watch` ends: a job tells drift from a watch that could not look. */
export const WATCH_EXIT = { noDrift: 0, drift: 1, failed: 2 } as const;

const QUESTION = "It asks on a terminal; without one it needs --yes. Answering no ends with 1.";

const STOPPING = `
Ctrl-C once: the engine finishes and stores what is under way, and the summary is printed. Ctrl-C again: it ends at once.
SIGTERM and SIGHUP do what the first Ctrl-C does. Progress is on stderr, the result on stdout.`;

export const ofProgram = (name: string): string => `
Examples:
  $ ${name} plan
  $ ${name} up
  $ ${name} watch --markdown-file drift.md
  $ ${name} bot-urls --env > bots.env
${ENDINGS}
watch has exit codes of its own: see ${name} watch --help.`;

export const ofPlan = (name: string): string => `
Each stack is previewed; where a webhook would be created the service is asked what is registered: free, adopted (your URL
stands there), taken (another URL), unknown. Workspaces that left the list are named. Nothing is changed.
${STOPPING}

Examples:
  $ ${name} plan
  $ ${name} plan --refresh --markdown-file plan.md
${ENDINGS} Changes to come are 0 too; more removals than up allows are 2.`;

export const ofUp = (name: string): string => `
The plan comes first, on stderr, and then a question. ${QUESTION}
With nothing to do it asks nothing. One failing workspace does not stop the others. A run that did not end, or had
failures, goes on with --resume: stacks that are done are left out, and so are plan and question. It looks
at the service first (--refresh) if that run did.
${STOPPING}

Examples:
  $ ${name} up
  $ ${name} up --yes --stacks-at-once 4 --json-file up.json
  $ ${name} up --resume
${ENDINGS}`;

export const ofRefresh = (name: string): string => `
Looks at each webhook at the service, and records in its stack what it sees. ${name} up then repairs what differs.
${STOPPING}

Examples:
  $ ${name} refresh
  $ ${name} refresh --json
${ENDINGS}`;

export const ofRotate = (name: string): string => `
The first wave is one stack alone, the others --wave-size stacks each (default: --stacks-at-once). A wave is verified before
the next begins, and a wave that fails stops the rest. Earlier keys stay accepted meanwhile. ${QUESTION}
${STOPPING}

Examples:
  $ ${name} rotate
  $ ${name} rotate --rotation 2026-12 --wave-size 2 --yes
  $ ${name} rotate --resume
${ENDINGS}`;

export const ofWatch = (name: string): string => `
Tells what differs, by workspace and property with both values (of keys only that they differ), and which command repairs it.
What is declared and not deployed, and what left the list and is still deployed, is drift too.
${STOPPING}

Examples:
  $ ${name} watch
  $ ${name} watch --markdown-file "$GITHUB_STEP_SUMMARY" --json-file drift.json

Exit code: 0 no drift, 1 drift, 2 a failure, also wrong use or a wrong configuration, 130 ended by Ctrl-C. Failure and drift are 2.
${JSON_FAILURES}`;

export const ofBotUrls = (name: string): string => `
They are those of the index stack, which up writes. Before the first up there are none.

Examples:
  $ ${name} bot-urls --env > bots.env
  $ ${name} bot-urls --json | jq -r .acme
${ENDINGS}`;

export const ofStacks = (name: string): string => `
The name of a workspace and the number of stacks decide. A workspace that comes or goes moves no other.

Examples:
  $ ${name} stacks
  $ ${name} stacks --json | jq 'map({ (.stack): (.workspaces | length) })'
${ENDINGS}`;

export const ofDestroy = (name: string): string => `
Webhooks that somebody else has taken over stay. It asks for the number of webhooks; without a terminal it needs --yes.
${STOPPING}

Examples:
  $ ${name} destroy
  $ ${name} destroy --yes --json
${ENDINGS}`;
