/** The responder on Node, with a handler that does nothing. */
import { createServer } from "node:http";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { VERIFICATION_KEY } from "../settings.ts";
import { serveBench } from "./listening.ts";

const onDelivery = (): void => undefined;
serveBench(createServer(toNodeListener(createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery }))));
