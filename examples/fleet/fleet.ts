import { runFleetCommand } from "pulumi-apichat/fleet";
import { definition } from "./definition.ts";

// node fleet.ts plan | up | bot-urls | watch | rotate | destroy …
await runFleetCommand(definition);
