import { RegistrationClient } from "pulumi-apichat/client";
import { startEmulator, type Emulator, type Scenario } from "pulumi-apichat/emulator";
import type { InboundMessage } from "pulumi-apichat/schema";
import { startEndpoint, VERIFICATION_KEY } from "../../test/support/endpoint.ts";
import stories from "./stories.json" with { type: "json" };

/** What is said on a picture of the page, in one language. */
export type Story = (typeof stories)["english"];

/** Fixed, because they can be read on the pictures; none that `apichat emulator` takes by itself. */
const PORTS = { port: 4010, botPort: 4011 };
const ENDPOINT_PORT = 3000;

const MARIA = { id: "5511987654321", name: "Maria Souza", conversation: 4711 };

/** The service with a story that has been played. */
export interface Stage extends AsyncDisposable {
  emulator: Emulator;
}

/** Starts the service and an endpoint on fixed ports, registers, and lets the contacts write. */
export async function setStage(story: Story): Promise<Stage> {
  const endpoint = await startEndpoint({ port: ENDPOINT_PORT });
  const picture = `http://127.0.0.1:${PORTS.port}/_emulator/samples/image.png`;
  const emulator = await startEmulator({
    ...PORTS,
    flows: { pizzeria: scenarioOf(story, picture) },
    workspaces: [
      { name: "acme", apiKey: "acme-api-key", flow: "pizzeria" },
      { name: "globex", apiKey: "globex-api-key", flow: "echo" },
    ],
  });
  await play(emulator, story, `${endpoint.url}/webhook`);
  return {
    emulator,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([emulator.close(), endpoint.close()]);
    },
  };
}

async function play(emulator: Emulator, story: Story, webhookUrl: string): Promise<void> {
  const acme = emulator.workspace("acme");
  const { baseUrl, apiKey } = acme;
  const client = new RegistrationClient({ baseUrl, apiKey });
  await client.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
  for (const [index, { name, text }] of story.others.entries()) {
    await acme.send(textOf({ id: `551190000000${index}`, name, conversation: 4700 + index }, text));
  }
  await acme.send(textOf(MARIA, story.greeting));
  await emulator.waitForDelivery({ verdict: "delivered" });
  const { event: _, ...pressed } = textOf(MARIA, story.seeCards);
  const submitted_values: [{ title: string; payload: string }] = [
    { title: story.seeCards, payload: "cards" },
  ];
  await acme.send({ ...pressed, event: "message_postback", submitted_values });
  await emulator.waitForMessage(
    ({ body }) => "content_type" in body && body.content_type === "generic_template",
  );
}

function textOf({ id, name, conversation }: typeof MARIA, content: string) {
  return {
    event: "message_created",
    message_type: "incoming",
    content,
    conversation_id: conversation,
    sender: { id, name, type: "contact" },
  } as const satisfies InboundMessage;
}

/** The flow that replies in it; its pictures are at `picture`. */
function scenarioOf(story: Story, picture: string): Scenario {
  const menu = [button(story.seeCards, "cards"), button(story.hours, "hours"), button(story.talk, "talk")];
  const items = story.cards.map((card, index) => ({
    ...card,
    image_url: picture,
    buttons: [button(story.choose, `card-${index + 1}`)],
  }));
  return {
    rules: [
      {
        when: { text: story.greeting },
        reply: [
          {
            type: "text",
            text: story.menu,
            content_type: "button_template",
            content_attributes: { text: story.menu, buttons: menu },
          },
        ],
      },
      {
        when: { payload: "cards" },
        reply: [
          {
            type: "text",
            text: story.cardsText,
            content_type: "generic_template",
            content_attributes: { ratio: "horizontal", items },
          },
        ],
      },
    ],
  };
}

const button = (title: string, payload: string) => ({ type: "postback", title, payload });
