import type { Scenario } from "pulumi-apichat/emulator";

/** What is said on a picture of the page, in one language. */
export interface Story {
  greeting: string;
  /** Of the menu's text and of its buttons. */
  menu: string;
  seeCards: string;
  hours: string;
  talk: string;
  cardsText: string;
  cards: readonly { title: string; subtitle: string }[];
  choose: string;
  /** The reply of an agent. */
  agent: string;
  /** The other conversations: who wrote, and what. */
  others: readonly { name: string; text: string }[];
}

export const english: Story = {
  greeting: "Hi, I would like to order a pizza",
  menu: "Hello Maria! What would you like?",
  seeCards: "See the pizzas",
  hours: "Opening hours",
  talk: "Talk to a person",
  cardsText: "Today from the oven:",
  cards: [
    { title: "Margherita", subtitle: "Tomato, mozzarella, basil" },
    { title: "Calabresa", subtitle: "Sausage and onion" },
    { title: "Four cheeses", subtitle: "For those who cannot choose" },
  ],
  choose: "This one",
  agent: "Hi Maria, Ana here. Shall we bring it to the same address?",
  others: [
    { name: "João Lima", text: "Are you open today?" },
    { name: "Beatriz Alves", text: "Thank you!" },
  ],
};

export const portuguese: Story = {
  greeting: "Oi, quero pedir uma pizza",
  menu: "Olá, Maria! O que você deseja?",
  seeCards: "Ver as pizzas",
  hours: "Horário",
  talk: "Falar com alguém",
  cardsText: "Hoje saindo do forno:",
  cards: [
    { title: "Margherita", subtitle: "Tomate, muçarela e manjericão" },
    { title: "Calabresa", subtitle: "Linguiça e cebola" },
    { title: "Quatro queijos", subtitle: "Para quem não consegue escolher" },
  ],
  choose: "Quero esta",
  agent: "Oi, Maria, aqui é a Ana. Entregamos no mesmo endereço?",
  others: [
    { name: "João Lima", text: "Vocês abrem hoje?" },
    { name: "Beatriz Alves", text: "Obrigada!" },
  ],
};

/** The flow that replies in it; its pictures are at `picture`. */
export function scenarioOf(story: Story, picture: string): Scenario {
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
