import {
  Server,
  ServerCredentials,
  type handleUnaryCall,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import plugins from "@pulumi/pulumi/proto/plugin_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import { ApiChatError, type ApiChatOperation } from "../errors/index.js";
import { ResponderLifecycle } from "../handshake-responder/provider.js";
import { MAX_TIMER_MS, anySignal } from "../lib/abort.js";
import { type Redact, createRedactor } from "../lib/redact.js";
import { hideQuery, spellingsOfUrl } from "../lib/url.js";
import { parseUrn } from "../lib/urn.js";
import { VERSION } from "../lib/version.js";
import type { CheckResult } from "../pulumi/check-and-diff.js";
import { type Lifecycle, rejectUnknown } from "../pulumi/dynamic-resource.js";
import type { Path } from "../pulumi/secret-values.js";
import { verificationKeyResource } from "./verification-key.js";
import { Run, openRunLog } from "../webhook/provider.js";
import {
  type ProviderConfig,
  changedConfig,
  checkConfig,
  readProviderConfig,
  secretsOfConfig,
  warnOfConfig,
} from "./config.js";
import type { EngineClient } from "./engine.js";
import { toServiceError } from "./failure.js";
import type { PluginResource, ResourceCall } from "./resource.js";
import { responderResource } from "./responder.js";
import { invokeGetApiChatWebhook, webhookResource } from "./webhook.js";
import { type PropertyValues, decodeValues, encodeValues } from "./wire.js";
import services, { type IResourceProviderServer } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import schema from "./schema.json" with { type: "json" };

const RESOURCES: Record<string, PluginResource> = {
  "apichat:index:ApiChatWebhook": webhookResource,
  "apichat:index:VerificationKey": verificationKeyResource,
  "apichat:index:Responder": responderResource,
};

/** The largest message that the engine accepts, in bytes. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

export function serve(engine: EngineClient): Promise<{ port: number; stop(): void }> {
  const server = new Server({ "grpc.max_receive_message_length": MAX_MESSAGE_BYTES });
  server.addService(services.ResourceProviderService, createPluginService(engine));
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve({ port, stop: () => server.forceShutdown() }),
    );
  });
}

/** Only the methods that the engine needs are implemented. */
function createPluginService(engine: EngineClient): UntypedServiceImplementation {
  let run = new Run(openRunLog(engine.address));
  let responders = new ResponderLifecycle();
  const ending = new AbortController();
  let config: ProviderConfig | undefined;

  /** Creates a method of the service. Each request has its own redactor. */
  const answer =
    <Request, Response>(
      work: (request: Request, redact: Redact) => Promise<Response>,
    ): handleUnaryCall<Request, Response> =>
    ({ request }, callback) => {
      let made: Redact | undefined;
      const redact: Redact = (text) =>
        (made ??= redactorOf(request as Properties, config?.secretTexts))(text);
      const respond = async (): Promise<void> => {
        try {
          callback(null, await work(request, redact));
        } catch (error) {
          callback(toServiceError(error, redact));
        }
      };
      void respond();
    };

  /** Creates a method for one resource. A failure names the resource and includes the state to keep. */
  const forResource = <Request extends ResourceRequest, Response>(
    operation: ApiChatOperation,
    work: (request: Request, target: Target, redact: Redact) => Promise<Response>,
  ): handleUnaryCall<Request, Response> =>
    answer(async (request, redact) => {
      const { resource, ...place } = findResource(request.getUrn());
      const limitSeconds = request.getTimeout?.() || undefined;
      const limit = limitSeconds === undefined ? undefined : startLimit(limitSeconds, operation);
      const signal = anySignal(ending.signal, limit?.signal);
      const secretBaseUrl = config?.secretBaseUrl;
      const call = { ...place, run, responders, signal, limitSeconds, secretBaseUrl };
      const target = { resource, call, lifecycle: resource.lifecycle(call) };
      try {
        return await engine.serve(call.urn, redact, () => work(request, target, redact));
      } catch (error) {
        throw toServiceError(error, redact, call.name, (outs) => encodeOuts(target, outs, givenIn(request)));
      } finally {
        clearTimeout(limit?.timer);
      }
    });

  return {
    handshake: answer(async () => new messages.ProviderHandshakeResponse().setAcceptSecrets(true)),
    /** A plugin that was started for debugging serves one run after another. */
    attach: answer(async (request: plugins.PluginAttach) => {
      engine.attach(request.getAddress());
      run = new Run(openRunLog(engine.address));
      responders = new ResponderLifecycle();
      return new empty.Empty();
    }),
    getPluginInfo: answer(async () => new plugins.PluginInfo().setVersion(VERSION)),
    getSchema: answer(async () => new messages.GetSchemaResponse().setSchema(JSON.stringify(schema))),

    checkConfig: answer(async (request: messages.CheckRequest, redact) => {
      const given = decodeValues(request.getNews());
      const urn = request.getUrn();
      await engine.serve(urn, redact, async () => warnOfConfig(given.values, urn));
      const secrets = [...secretsOfConfig(given.values), ...given.secrets];
      const checked = { inputs: given.values, failures: checkConfig(given.values), secrets };
      return toCheckResponse(checked, redact);
    }),
    diffConfig: answer(async (request: messages.DiffRequest) => {
      const olds = decodeValues(request.getOldInputs() ?? request.getOlds()).values;
      const news = decodeValues(request.getNews()).values;
      return toDiffResponse(changedConfig(olds, news), olds, news);
    }),
    configure: answer(async (request: messages.ConfigureRequest) => {
      config = readProviderConfig(decodeValues(request.getArgs()));
      run.configure(config);
      return new messages.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true);
    }),

    check: forResource("check", async (request: messages.CheckRequest, target, redact) => {
      const { lifecycle, call, resource } = target;
      const given = decodeValues(request.getNews());
      const misspelt = rejectUnknown(resource.properties, given.values);
      const olds = named(call, decodeValues(request.getOlds()).values);
      const checked = await lifecycle.check(olds, named(call, given.values));
      const inputs = omitNameAndSource(checked.inputs);
      const secrets = secretsOf(target, inputs, given.secrets);
      return toCheckResponse({ inputs, failures: [...misspelt, ...checked.failures], secrets }, redact);
    }),
    diff: forResource("check", async (request: messages.DiffRequest, { lifecycle, call }) => {
      const olds = decodeValues(request.getOlds()).values;
      const news = decodeValues(request.getNews()).values;
      const { changed, deleteBeforeReplace } = await lifecycle.diff(
        request.getId(),
        named(call, olds),
        named(call, news),
      );
      const ignored = request.getIgnorechangesList();
      // A state that the dynamic provider wrote contains that provider's source, which an update removes.
      const leftover = "__provider" in olds ? ["__provider"] : [];
      const counted = new Set([...changed, ...leftover].filter((name) => !ignored.includes(name)));
      const response = toDiffResponse([...counted], decodeValues(request.getOldInputs()).values, news);
      return response.setDeletebeforereplace(deleteBeforeReplace);
    }),
    create: forResource("set-webhook", async (request: messages.CreateRequest, target) => {
      const { resource, call, lifecycle } = target;
      const { values, secrets } = decodeValues(request.getProperties());
      const { id, outs } = request.getPreview()
        ? { id: "", outs: await resource.previewCreate(named(call, values), call) }
        : await lifecycle.create(named(call, values));
      return new messages.CreateResponse().setId(id).setProperties(encodeOuts(target, outs, secrets));
    }),
    update: forResource("set-webhook", async (request: messages.UpdateRequest, target) => {
      const { resource, call, lifecycle } = target;
      const state = named(call, decodeValues(request.getOlds()).values);
      const { values, secrets } = decodeValues(request.getNews());
      const news = named(call, values);
      const { outs } = request.getPreview()
        ? { outs: await resource.previewUpdate(request.getId(), state, news, call) }
        : await lifecycle.update(request.getId(), state, news);
      return new messages.UpdateResponse().setProperties(encodeOuts(target, outs, secrets));
    }),
    read: forResource("get-webhook", async (request: messages.ReadRequest, target) => {
      const { call, lifecycle } = target;
      const state = decodeValues(request.getProperties());
      const given = decodeValues(request.getInputs());
      const { id, props, inputs } = await lifecycle.read(request.getId(), named(call, state.values));
      if (id === undefined || !props) return new messages.ReadResponse();
      const secrets = [...state.secrets, ...given.secrets];
      return new messages.ReadResponse()
        .setId(id)
        .setProperties(encodeOuts(target, props, secrets))
        .setInputs(encodeOuts(target, inputs ?? given.values, secrets));
    }),
    delete: forResource("delete-webhook", async (request: messages.DeleteRequest, { lifecycle, call }) => {
      await lifecycle.delete(request.getId(), named(call, decodeValues(request.getProperties()).values));
      return new empty.Empty();
    }),
    invoke: answer(async (request: messages.InvokeRequest) => {
      if (request.getTok() !== "apichat:index:getApiChatWebhook") {
        throw new Error(`there is no function ${request.getTok()}`);
      }
      const { values } = decodeValues(request.getArgs());
      const result = await invokeGetApiChatWebhook(values, { run, signal: ending.signal });
      return new messages.InvokeResponse().setReturn(encodeValues(result));
    }),

    cancel: answer(async () => {
      ending.abort(interrupted("the run was ended"));
      return new empty.Empty();
    }),
  } satisfies Partial<IResourceProviderServer>;
}

const GETTERS = ["getNews", "getOlds", "getOldInputs", "getProperties", "getInputs", "getArgs"] as const;

type Properties = Partial<Record<(typeof GETTERS)[number], () => Struct | undefined>>;

/**
 * Returns a redactor for the secrets of all properties, because two values may have been swapped. If the request
 * has the program's inputs, URLs whose query is already hidden are not redacted: a conflict must name them.
 */
function redactorOf(request: Properties, configured: readonly string[] = []): Redact {
  // `applied` is left out: it is marked as a whole, although most of its values are not secret.
  const marked = GETTERS.flatMap((getter) => decodeValues(request[getter]?.(), "applied").secretTexts);
  const isShown = (text: string): boolean =>
    request.getNews !== undefined && text.includes("?") && hideQuery(text) === text;
  const secrets = [...marked.filter((text) => !isShown(text)), ...configured];
  return createRedactor(secrets.flatMap((text) => [text, ...spellingsOfUrl(text)]));
}

interface ResourceRequest extends Pick<Properties, "getNews" | "getProperties"> {
  getUrn(): string;
  getTimeout?(): number;
}

type Struct = ReturnType<typeof encodeValues>;

interface Target {
  resource: PluginResource;
  call: ResourceCall;
  lifecycle: Lifecycle;
}

/** A pending delete of a resource that moved here from the dynamic provider still has that provider's type. */
const DYNAMIC_TYPE = /^pulumi-nodejs:dynamic\/apichat:/;

function findResource(urn: string) {
  const { type, ...parts } = parseUrn(urn);
  const token = type.replace(DYNAMIC_TYPE, "apichat:index:");
  const resource = RESOURCES[token];
  if (resource === undefined) throw new Error(`there is no resource ${token}`);
  return { resource, urn, ...parts };
}

/** Returns a signal that fires when the engine stops waiting for an operation (`customTimeouts`). */
function startLimit(seconds: number, operation: ApiChatOperation) {
  const controller = new AbortController();
  const end = (): void =>
    controller.abort(interrupted(`not done within the ${seconds} s of customTimeouts`, operation));
  return { signal: controller.signal, timer: setTimeout(end, Math.min(seconds * 1000, MAX_TIMER_MS)) };
}

/** Reports one attempt, because a call that was in progress may have taken effect. */
const interrupted = (summary: string, operation: ApiChatOperation = "set-webhook"): ApiChatError =>
  new ApiChatError("timeout", summary, { operation, attempts: 1, hints: [{ id: "run_again" }] });

const secretsOf = ({ resource, call }: Target, values: object, given: readonly Path[]): Path[] => [
  ...resource.properties.secretsIn(values as PropertyValues),
  ...(resource.repeatsIn?.(values as PropertyValues, given, call) ?? []),
  ...given,
];

function encodeOuts(target: Target, outs: object, given: readonly Path[]): Struct {
  const stored = omitNameAndSource(outs);
  return encodeValues(stored, secretsOf(target, stored, given));
}

/** A resource's name is in its URN, but the lifecycles expect it in the properties. Empty properties stay empty. */
const named = ({ name }: ResourceCall, values: PropertyValues): never =>
  (Object.keys(values).length === 0 ? values : { ...values, name }) as never;

/** Removes properties that the plugin does not store: the name, and the dynamic provider's source. */
const omitNameAndSource = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([name]) => name !== "name" && name !== "__provider"));

const givenIn = (request: ResourceRequest): Path[] =>
  decodeValues(request.getNews?.() ?? request.getProperties?.()).secrets;

function toCheckResponse(
  { inputs, failures, secrets }: CheckResult<object> & { secrets: readonly Path[] },
  redact: Redact,
): messages.CheckResponse {
  const list = failures.map(({ property, reason }) => {
    const isSecret = secrets.some(([name]) => name === property);
    return new messages.CheckFailure().setProperty(isSecret ? "" : property).setReason(redact(reason));
  });
  return new messages.CheckResponse().setInputs(encodeValues(inputs, secrets)).setFailuresList(list);
}

const { ADD, DELETE, UPDATE } = messages.PropertyDiff.Kind;
const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;

/** The engine would show a changed output as deleted, so only inputs are listed. */
function toDiffResponse(
  changed: readonly string[],
  olds: PropertyValues,
  news: PropertyValues,
): messages.DiffResponse {
  const inputs = changed.filter((name) => name in olds || name in news);
  const response = new messages.DiffResponse()
    .setChanges(changed.length > 0 ? DIFF_SOME : DIFF_NONE)
    .setDiffsList([...changed])
    .setHasdetaileddiff(inputs.length > 0);
  for (const name of inputs) {
    const kind = !(name in news) ? DELETE : name in olds ? UPDATE : ADD;
    const difference = new messages.PropertyDiff().setKind(kind).setInputdiff(true);
    response.getDetaileddiffMap().set(name, difference);
  }
  return response;
}
