/**
 * Bedrock with models of Anthropic, the token service of AWS, and the metadata services of machines and containers.
 * Checks signatures of Version 4 as the documentation defines them, and sends streams in frames.
 */
import { createHash, createHmac } from 'node:crypto';
import { Failure } from '../errors.ts';
import { textOf } from '../json.ts';
import { awsMessage } from './aws-frames.ts';
import type { CloudCall, CloudExchange, TokenAnswer, TokenCall } from './cloud-call.ts';
import { ConverseRequest, converseFrames, converseReply } from './converse.ts';
import { nowSeconds } from './tokens.ts';

export const BEDROCK = {
  region: 'eu-central-1',
  key: { id: 'AKIASIMULATED0000001', secret: 'simulated/secret+key/0123456789abcdef' },
  /** May sign in, but not use models. */
  stranger: { id: 'AKIASIMULATED0000002', secret: 'simulated/other+key/0123456789abcdef' },
  apiKey: 'bedrock-api-key-c2ltdWxhdGVkIGtleQ==',
  role: 'arn:aws:iam::123456789012:role/gateway',
  webToken: 'web.identity.token.of.kubernetes',
  containerToken: 'container-authorization-token',
} as const;

const SESSION_SECONDS = 3_600;
/** Temporary keys have the session token of their role. */
const TEMPORARY = {
  id: 'ASIASIMULATED0000003',
  secret: 'simulated/temporary+key/0123456789ab',
  token: 'session-token-of-the-role',
};

// ---------------------------------------------------------------- signatures

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

type SignedRequest = Omit<TokenCall, 'url' | 'body'> & { readonly body: string | Buffer };

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

/** The id of the key, or the name of the exception. */
function signer(request: SignedRequest, service: string): { id: string } | { exception: string; message: string } {
  const given = AUTHORIZATION.exec(request.headers.authorization ?? '');
  if (!given) return { exception: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' };
  const [, id = '', day = '', region = '', scope = '', names = '', signature = ''] = given;
  const key = [BEDROCK.key, BEDROCK.stranger, TEMPORARY].find((one) => one.id === id);
  if (!key)
    return {
      exception: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    };
  const date = request.headers['x-amz-date'] ?? '';
  if (region !== BEDROCK.region || scope !== service)
    return {
      exception: 'InvalidSignatureException',
      message: `Credential should be scoped to a valid region, not '${region}'.`,
    };
  if (key === TEMPORARY && request.headers['x-amz-security-token'] !== TEMPORARY.token)
    return {
      exception: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    };
  const signed = names.split(';');
  const isWhole = ['host', 'x-amz-date'].every((name) => signed.includes(name));
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')) / 1000;
  if (!isWhole || !date.startsWith(day) || Math.abs(at - nowSeconds()) > 300)
    return { exception: 'InvalidSignatureException', message: 'Signature expired.' };
  const twice = request.path
    .split('/')
    .map((part) => encodeURIComponent(part))
    .join('/');
  const query = request.query
    .split('&')
    .filter((part) => part !== '')
    .sort()
    .join('&');
  const lines = signed.map((name) => `${name}:${(request.headers[name] ?? '').trim()}`);
  const canonical = [request.method, twice, query, ...lines, '', names, sha256(request.body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${region}/${scope}/aws4_request`, sha256(canonical)].join('\n');
  const signingKey = [day, region, scope, 'aws4_request'].reduce(
    (last: string | Buffer, part) => hmac(last, part),
    `AWS4${key.secret}`,
  );
  if (hmac(signingKey, text).toString('hex') !== signature)
    return {
      exception: 'InvalidSignatureException',
      message: 'The request signature we calculated does not match the signature you provided.',
    };
  return { id };
}

// ---------------------------------------------------------------- credentials

const until = (): string => new Date(Date.now() + SESSION_SECONDS * 1000).toISOString();
const xml = (status: number, text: string): TokenAnswer => ({ status, body: text });
const stsError = (code: string, message: string): TokenAnswer =>
  xml(403, `<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`);

/** Undefined for requests that are not for credentials. */
export function awsToken(call: TokenCall): TokenAnswer | undefined {
  if (call.path === '/aws-sts/') return stsAnswer(call);
  const keys = {
    AccessKeyId: TEMPORARY.id,
    SecretAccessKey: TEMPORARY.secret,
    Token: TEMPORARY.token,
    Expiration: until(),
  };
  if (call.path === '/aws-container/credentials')
    return call.headers.authorization === BEDROCK.containerToken
      ? { status: 200, body: keys }
      : { status: 401, body: { message: 'Unauthorized' } };
  if (!call.path.startsWith('/latest/')) return undefined;
  if (call.path === '/latest/api/token')
    return call.method === 'PUT' && Number(call.headers['x-aws-ec2-metadata-token-ttl-seconds']) > 0
      ? xml(200, 'simulated-metadata-session')
      : xml(400, 'Bad Request');
  if (call.headers['x-aws-ec2-metadata-token'] !== 'simulated-metadata-session') return xml(401, 'Unauthorized');
  return call.path.endsWith('/security-credentials/') ? xml(200, 'gateway-role') : { status: 200, body: keys };
}

function stsAnswer(call: TokenCall): TokenAnswer {
  const form = new URLSearchParams(call.body);
  if (call.method !== 'POST' || form.get('Version') !== '2011-06-15')
    return stsError('InvalidAction', 'Could not find it.');
  if (form.get('Action') === 'AssumeRole') {
    const by = signer(call, 'sts');
    if (!('id' in by)) return stsError(by.exception.replace('Exception', ''), by.message);
  } else if (form.get('WebIdentityToken') !== BEDROCK.webToken)
    return stsError('InvalidIdentityToken', 'No OpenIDConnect provider found in your account');
  const role = form.get('RoleArn');
  if (role !== BEDROCK.role)
    return stsError('AccessDenied', `Not authorized to perform sts:${form.get('Action')} on resource: ${role}`);
  const tags = `<AccessKeyId>${TEMPORARY.id}</AccessKeyId><SecretAccessKey>${TEMPORARY.secret}</SecretAccessKey><SessionToken>${TEMPORARY.token}</SessionToken><Expiration>${until()}</Expiration>`;
  return xml(200, `<R xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Credentials>${tags}</Credentials></R>`);
}

// ---------------------------------------------------------------- models

const MODEL_PATH = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens|converse|converse-stream)$/;

const refused = (status: number, exception: string, message: string): Failure =>
  new Failure(status, message, {
    headers: { 'x-amzn-errortype': `${exception}:http://internal.amazon.com/` },
    whole: { message },
  });

/** Undefined for paths of other providers. */
export function bedrockCall(path: string): CloudCall | undefined {
  const [, encoded, verb] = MODEL_PATH.exec(path) ?? [];
  if (encoded === undefined || verb === undefined) return undefined;
  const model = decodeURIComponent(encoded);
  return {
    cloud: 'bedrock',
    path: verb === 'count-tokens' ? '/v1/messages/count_tokens' : '/v1/messages',
    shape: 'anthropic',
    enter(exchange) {
      checkSigner(exchange);
      if (model.startsWith('missing-'))
        throw refused(400, 'ValidationException', 'The provided model identifier is invalid.');
      if (model.startsWith('profiled-'))
        throw refused(
          400,
          'ValidationException',
          `Invocation of model ID ${model} with on-demand throughput isn't supported. Retry with an inference profile.`,
        );
      if (model.startsWith('denied-'))
        throw refused(403, 'AccessDeniedException', "You don't have access to the model with the specified model ID.");
      if (verb.startsWith('converse')) enterConverse(exchange, model);
      else if (verb === 'count-tokens') enterCount(exchange);
      if (!verb.startsWith('converse')) checkBody(exchange, model);
      exchange.json.model = model;
      if (verb.endsWith('stream')) {
        exchange.json.stream = true;
        exchange.framing = 'aws';
      }
      exchange.entry.headers['anthropic-version'] = '2023-06-01';
    },
    failure: (status, message) =>
      ({
        429: refused(429, 'ThrottlingException', message),
        503: refused(503, 'ServiceUnavailableException', message),
      })[status],
  };
}

function checkSigner(exchange: CloudExchange): void {
  const bearer = /^Bearer (.+)$/.exec(exchange.header('authorization'))?.[1];
  if (bearer === BEDROCK.apiKey) return;
  if (bearer !== undefined)
    throw refused(403, 'AccessDeniedException', 'Authentication failed: Please make sure your API Key is valid.');
  const { method, path, headers } = exchange.entry;
  const by = signer({ method, path, query: exchange.query.toString(), headers, body: exchange.body }, 'bedrock');
  if (!('id' in by)) throw refused(403, by.exception, by.message);
  if (by.id === BEDROCK.stranger.id)
    throw refused(
      403,
      'AccessDeniedException',
      'User: arn:aws:iam::123456789012:user/stranger is not authorized to perform: bedrock:InvokeModel',
    );
}

function checkBody({ json }: CloudExchange, model: string): void {
  const malformed = (what: string): Failure =>
    refused(400, 'ValidationException', `Malformed input request: ${what}, please reformat your input and try again.`);
  if (json.anthropic_version !== 'bedrock-2023-05-31') throw malformed('#: required key [anthropic_version] not found');
  for (const name of ['model', 'stream'])
    if (json[name] !== undefined) throw malformed(`#: extraneous key [${name}] is not permitted`);
  if (json.anthropic_beta !== undefined && !Array.isArray(json.anthropic_beta))
    throw malformed('#/anthropic_beta: expected a list');
  if (model.includes('haiku') && textOf(json.anthropic_beta?.toString()).includes('context-1m'))
    throw refused(400, 'ValidationException', 'invalid beta flag');
}

function enterConverse(exchange: CloudExchange, model: string): void {
  if (model.startsWith('silent-'))
    throw refused(400, 'ValidationException', "This action doesn't support the model that you provided.");
  const refuse = (message: string): Failure => refused(400, 'ValidationException', message);
  const { body, isGuarded } = new ConverseRequest(exchange.json, model, refuse).read();
  exchange.json = body;
  exchange.reply = (reply) => converseReply(reply, isGuarded);
  exchange.frames = (event) => converseFrames(event, isGuarded);
}

function enterCount(exchange: CloudExchange): void {
  const input = exchange.json.input as { invokeModel?: { body?: unknown } } | undefined;
  exchange.json = JSON.parse(Buffer.from(textOf(input?.invokeModel?.body), 'base64').toString() || '{}');
  if (/uncounted/.test(exchange.entry.path))
    throw refused(400, 'ValidationException', "The provided model doesn't support counting tokens.");
  if (exchange.json.max_tokens === undefined) throw refused(400, 'ValidationException', 'max_tokens: Field required');
  exchange.reply = ({ input_tokens }) => ({ inputTokens: input_tokens ?? 0 });
}

// ---------------------------------------------------------------- frames

/** One frame with a payload in base64, and padding, as Bedrock adds it. */
export const awsFrame = (json: string, event: string | undefined): Buffer =>
  event === 'error'
    ? awsMessage(
        {
          ':exception-type': json.includes('rate_limit_error') ? 'throttlingException' : 'modelStreamErrorException',
          ':message-type': 'exception',
        },
        { message: 'The model failed (simulated).' },
      )
    : awsMessage(
        { ':event-type': 'chunk', ':message-type': 'event' },
        { bytes: Buffer.from(json).toString('base64'), p: 'abcdefgh' },
      );
