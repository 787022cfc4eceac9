/**
 * Amazon Bedrock: models of Anthropic by their own API, with model, version and betas in other places,
 * and any model by Converse. Streams are in frames of AWS.
 */
import type { HttpRequest } from '../../../platform/http/index.ts';
import { BEDROCK_BETAS, type CloudSettings } from '../../../rules/index.ts';
import { type CloudUse, parseBase } from '../account-url.ts';
import { awsCredentials } from './aws-credentials.ts';
import { fetchedCredential, withBearer } from './bearer.ts';
import { bedrockCount, bedrockError } from './bedrock-errors.ts';
import { BedrockStream, converseEvent, messagesEvent } from './bedrock-stream.ts';
import type { Cloud, CloudServices } from './cloud.ts';
import { changeMembers, MESSAGES_PATH, memberOf, wholeBody, withoutHeaders } from './json-members.ts';
import { withMessagesErrors } from './messages-errors.ts';
import { signV4 } from './sigv4.ts';

const VERSION = '"bedrock-2023-05-31"';
const CONVERSE_PATH = /^\/model\/[^/]+\/converse(?:-stream)?$/;
/**
 * Headers of the provider's own API that have another place here, and headers of AWS, which only the account may set.
 */
const isNotSent = (name: string): boolean => /^(?:anthropic-(?:version|beta)$|x-amz)/.test(name);

export function bedrock(services: CloudServices, { account, cloud }: CloudUse): Cloud {
  const { origin, prefix } = parseBase(account.baseUrl);
  const keys = fetchedCredential(services, { account, cloud }, awsCredentials, (request, credentials) =>
    signV4(request, credentials, { region: cloud.region ?? '', service: 'bedrock', now: services.clock.now() }),
  );

  const messages = (request: HttpRequest, model: string): HttpRequest | undefined => {
    const body = wholeBody(request.body);
    const [, operation] = MESSAGES_PATH.exec(request.path) ?? [];
    if (!body || operation === undefined) return undefined;
    const isCount = operation !== '';
    const isStream = memberOf(body, 'stream')?.toString() === 'true';
    const invoke = isStream ? 'invoke-with-response-stream' : 'invoke';
    const verb = isCount ? 'count-tokens' : invoke;
    const changed = changeMembers(body, {
      remove: ['model', 'stream'],
      add: { anthropic_version: VERSION, ...betas(request.headers) },
    });
    return {
      ...request,
      origin,
      path: `${prefix}/model/${encodeURIComponent(model)}/${verb}`,
      headers: [...withoutHeaders(request.headers, isNotSent), ...(isCount ? [] : guardrailHeaders(cloud))],
      body: isCount ? countBody(changed) : changed,
    };
  };

  const converse = (request: HttpRequest): HttpRequest => {
    const body = wholeBody(request.body);
    const guarded = body && cloud.guardrail !== undefined ? guard(body, cloud) : request.body;
    return { ...request, origin, path: prefix + request.path, ...(guarded !== undefined && { body: guarded }) };
  };

  return {
    prepare: (request, { model }) => (CONVERSE_PATH.test(request.path) ? converse(request) : messages(request, model)),
    sign: (request) => (cloud.auth === 'api-key' ? withBearer(request, account.credential) : keys.sign(request)),
    listen(listener, _use, { path }) {
      const inner = path.startsWith('/v1/messages/count_tokens') ? bedrockCount(listener) : listener;
      const eventOf = CONVERSE_PATH.test(path) ? converseEvent : messagesEvent;
      return new BedrockStream(withMessagesErrors(inner, bedrockError), eventOf);
    },
    forget: keys.forget,
  };
}

/** The betas of the header that Bedrock has, as a member of the body. Clients send further ones with every request. */
function betas(headers: readonly string[]): Record<string, string> {
  const names: string[] = [];
  for (let n = 0; n < headers.length; n += 2)
    if (headers[n] === 'anthropic-beta') names.push(...(headers[n + 1] ?? '').split(','));
  const known = new Set(names.flatMap((name) => BEDROCK_BETAS.get(name.trim().toLowerCase()) ?? []));
  return known.size === 0 ? {} : { anthropic_beta: JSON.stringify([...known]) };
}

const DRAFT = 'DRAFT';

/** The guardrail of the account, which no caller chooses. */
const guard = (
  body: Buffer,
  { guardrail, guardrail_version: version, guardrail_trace: trace }: CloudSettings,
): Buffer => {
  const config = { guardrailIdentifier: guardrail, guardrailVersion: version ?? DRAFT, ...(trace && { trace }) };
  return changeMembers(body, { remove: [], add: { guardrailConfig: JSON.stringify(config) } });
};

function guardrailHeaders({ guardrail, guardrail_version: version, guardrail_trace: trace }: CloudSettings): string[] {
  if (guardrail === undefined) return [];
  return [
    ...['x-amzn-bedrock-guardrailidentifier', guardrail],
    ...['x-amzn-bedrock-guardrailversion', version ?? DRAFT],
    ...(trace === undefined ? [] : ['x-amzn-bedrock-trace', trace.toUpperCase()]),
  ];
}

/** The count is that of a request, which needs its limit of output. */
function countBody(body: Buffer): string {
  const whole =
    memberOf(body, 'max_tokens') === undefined ? changeMembers(body, { remove: [], add: { max_tokens: '1' } }) : body;
  return JSON.stringify({ input: { invokeModel: { body: whole.toString('base64') } } });
}
