import * as pulumi from "@pulumi/pulumi";
import { openFleet } from "pulumi-apichat/fleet";
import { definition } from "./definition.ts";
import declareStack from "./program.ts";

// One stack of the fleet as a Pulumi program: for Pulumi Deployments and the Pulumi Kubernetes Operator, which know stacks and
// no fleet. It declares and exports what node fleet.ts does.
const fleet = await openFleet(definition);
const stack = fleet.stacks.find(({ name }) => name === pulumi.getStack());
if (!stack) throw new pulumi.RunError(`the fleet ${fleet.name} has no stack ${pulumi.getStack()}`);

const webhooks = Object.entries(declareStack({ ...stack, rotations: definition.rotations }));
export const botUrls = Object.fromEntries(webhooks.map(([name, { botUrl }]) => [name, botUrl]));
export const statuses = Object.fromEntries(webhooks.map(([name, { status }]) => [name, status]));
