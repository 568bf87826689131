import { answerBot } from "./bot-interface.js";
import { addControl } from "./control/control-app.js";
import { addGuard } from "./control/guard.js";
import type { EmulatorState } from "./emulator-state.js";
import { createApp, listen, type EmulatorApp, type HttpListener } from "./http-server.js";
import { answerRegistration } from "./registration-interface.js";
import type { EmulatorStore } from "./store/store.js";

/** What an emulator has open. */
export interface Parts {
  bots: HttpListener;
  registration: HttpListener;
  store: EmulatorStore | undefined;
}

/** Opens all of it or nothing. No request is answered before `ready`. */
export async function openParts(state: EmulatorState, ready: Promise<void>): Promise<Parts> {
  const store = await openData(state.settings.data);
  try {
    return { ...(await listenOnBoth(state, ready)), store };
  } catch (error) {
    store?.close();
    throw error;
  }
}

/** node:sqlite is loaded only where it is used: on Node 22 it prints a warning. */
async function openData(path: string | undefined): Promise<EmulatorStore | undefined> {
  if (path === undefined) return undefined;
  const { openStore } = await import("./store/store.js");
  return openStore(path);
}

/** Nothing is answered before the workspaces are there. */
async function listenOnBoth(state: EmulatorState, ready: Promise<void>): Promise<Omit<Parts, "store">> {
  const { host, port, botPort } = state.settings;
  const addBotRoutes = (app: EmulatorApp): void => addGuard(app, state);
  const botApp = createApp(addBotRoutes, async (request) => {
    await ready;
    return answerBot(state, request);
  });
  const addRegistrationRoutes = (app: EmulatorApp): void => {
    app.use(async (_, next) => {
      await ready;
      await next();
    });
    addControl(app, state);
    addGuard(app, state);
  };
  const registrationApp = createApp(addRegistrationRoutes, (request) => answerRegistration(state, request));
  const bots = await listen(botApp, host, botPort);
  try {
    return { bots, registration: await listen(registrationApp, host, port) };
  } catch (error) {
    await bots.close();
    throw error;
  }
}
