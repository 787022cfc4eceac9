/**
 * A project of Vertex AI: Google's token services, the metadata service of a machine, and models of Google and
 * Anthropic. Checks signatures and scopes, the project and the location of the path, and what differs in bodies from
 * the providers' own APIs.
 */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { Failure, invalid } from '../errors.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import type { CloudCall, CloudExchange, TokenAnswer, TokenCall } from './cloud-call.ts';
import { decodePart, issueToken, nowSeconds, readToken } from './tokens.ts';

export const VERTEX = {
  project: 'sim-project-1',
  locations: ['europe-west1', 'us', 'global'],
  email: 'gateway@sim-project-1.iam.gserviceaccount.com',
  /** Gets tokens, but has no role in the project. */
  stranger: 'stranger@sim-project-1.iam.gserviceaccount.com',
  apiKey: 'AQ.simulated-express-key-0123456789',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/sim',
  federatedToken: 'federated.token.for.google',
} as const;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const TOKEN_SECONDS = 3_600;
const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });

/**
 * The JSON key of a service account, as the console of the cloud gives it. `url` is the address of the simulated
 * providers.
 */
export const serviceAccountKey = (url: string, email: string = VERTEX.email): string =>
  JSON.stringify(
    {
      type: 'service_account',
      project_id: VERTEX.project,
      private_key_id: 'simulated-key-1',
      private_key: KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      client_email: email,
      token_uri: `${url}/google/token`,
    },
    null,
    2,
  );

// ---------------------------------------------------------------- tokens

const token = (email: string): JsonObject => ({
  access_token: issueToken({ scope: SCOPE, email }, TOKEN_SECONDS),
  expires_in: TOKEN_SECONDS,
  token_type: 'Bearer',
});
const refusal = (status: number, error: string, description: string): TokenAnswer => ({
  status,
  body: { error, error_description: description },
});

/** Undefined for requests that are not for a token. */
export function googleToken(call: TokenCall): TokenAnswer | undefined {
  const form = new URLSearchParams(call.body);
  if (call.path === '/google/token') return serviceAccountAnswer(call, form);
  if (call.path === '/v1/token') return exchangeAnswer(form);
  const [, name] = /^\/computeMetadata\/v1\/instance\/service-accounts\/([^/]+)\/token$/.exec(call.path) ?? [];
  if (name !== undefined)
    return call.method === 'GET' && call.headers['metadata-flavor'] === 'Google'
      ? { status: 200, body: token(VERTEX.email) }
      : refusal(403, 'forbidden', 'Missing required header: Metadata-Flavor');
  const [, email] = /^\/v1\/projects\/-\/serviceAccounts\/([^/:]+):generateAccessToken$/.exec(call.path) ?? [];
  return email === undefined ? undefined : impersonationAnswer(call, decodeURIComponent(email));
}

function serviceAccountAnswer({ url }: TokenCall, form: URLSearchParams): TokenAnswer {
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return refusal(400, 'unsupported_grant_type', 'Invalid grant_type');
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const [header, body] = [decodePart(head), decodePart(claims)];
  const isSigned =
    header?.alg === 'RS256' &&
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      createPublicKey(KEYS.publicKey.export({ type: 'spki', format: 'pem' })),
      Buffer.from(signature, 'base64url'),
    );
  if (!isSigned || !body) return refusal(400, 'invalid_grant', 'Invalid JWT Signature.');
  const now = nowSeconds();
  const isTimely =
    Number(body.iat) <= now + 5 && Number(body.exp) > now && Number(body.exp) <= Number(body.iat) + 3_600;
  if (!isTimely) return refusal(400, 'invalid_grant', 'Invalid JWT: Token must be a short-lived token.');
  if (body.aud !== url) return refusal(400, 'invalid_grant', 'Invalid JWT: Failed audience check.');
  if (body.scope !== SCOPE) return refusal(400, 'invalid_scope', 'Invalid OAuth scope or ID token audience provided.');
  if (body.iss !== VERTEX.email && body.iss !== VERTEX.stranger)
    return refusal(400, 'invalid_grant', 'Invalid grant: account not found');
  return { status: 200, body: token(textOf(body.iss)) };
}

function exchangeAnswer(form: URLSearchParams): TokenAnswer {
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange')
    return refusal(400, 'unsupported_grant_type', 'Invalid grant_type');
  if (form.get('audience') !== VERTEX.audience)
    return refusal(400, 'invalid_target', 'The target service indicated by the "audience" parameters is invalid.');
  if (form.get('subject_token_type') !== 'urn:ietf:params:oauth:token-type:jwt')
    return refusal(400, 'invalid_request', 'Invalid subject_token_type');
  if (form.get('subject_token') !== VERTEX.federatedToken)
    return refusal(400, 'invalid_grant', 'The given credential is rejected by the attribute condition.');
  return { status: 200, body: token('principal://federated') };
}

function impersonationAnswer({ headers, body }: TokenCall, email: string): TokenAnswer {
  const claims = readToken((headers.authorization ?? '').replace(/^Bearer /, ''));
  const scopes = objectOf(JSON.parse(body)).scope;
  if (claims?.email !== 'principal://federated' || !Array.isArray(scopes) || email !== VERTEX.email)
    return {
      status: 403,
      body: { error: { code: 403, message: "Permission 'iam.serviceAccounts.getAccessToken' denied on resource." } },
    };
  const expireTime = new Date(Date.now() + TOKEN_SECONDS * 1000).toISOString();
  return { status: 200, body: { accessToken: token(email).access_token, expireTime } };
}

// ---------------------------------------------------------------- models

const MODEL_PATH =
  /^\/v1(?:\/projects\/([^/]+)\/locations\/([^/]+))?\/publishers\/(google|anthropic)\/models\/([^/:]+):(\w+)$/;

/** Undefined for paths of other providers. */
export function vertexCall(path: string): CloudCall | undefined {
  const [, project, location, publisher, encoded = '', verb = ''] = MODEL_PATH.exec(path) ?? [];
  if (publisher === undefined) return undefined;
  const model = decodeURIComponent(encoded);
  const isCount = model === 'count-tokens';
  const own =
    publisher === 'anthropic'
      ? `/v1/messages${isCount ? '/count_tokens' : ''}`
      : `/v1beta/models/${encoded}:${verb === 'predict' ? 'batchEmbedContents' : verb}`;
  return {
    cloud: 'vertex',
    path: own,
    shape: publisher === 'anthropic' ? 'anthropic' : 'google',
    enter(exchange) {
      checkPlace(exchange, project, location);
      if (model.startsWith('missing-')) throw noModel(model, project);
      if (publisher === 'anthropic') enterMessages(exchange, isCount ? undefined : model, verb);
      else enterGenerate(exchange, verb, model);
    },
    // Errors of the cloud itself have Google's form, also before models of Anthropic.
  };
}

const refused = (status: number, name: string, message: string, reason?: string): Failure =>
  new Failure(status, message, {
    whole: {
      error: {
        code: status,
        message,
        status: name,
        ...(reason && { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] }),
      },
    },
  });

const noModel = (model: string, project: string = VERTEX.project): Failure =>
  refused(
    404,
    'NOT_FOUND',
    `Publisher Model \`projects/${project}/models/${model}\` was not found or your project does not have access to it.`,
  );

function checkPlace(exchange: CloudExchange, project: string | undefined, location: string | undefined): void {
  const key = exchange.header('x-goog-api-key');
  const bearer = /^Bearer (.+)$/.exec(exchange.header('authorization'))?.[1];
  if (key !== '' && bearer === undefined) {
    if (key !== VERTEX.apiKey)
      throw refused(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID');
    if (project !== undefined) throw refused(401, 'UNAUTHENTICATED', 'API keys are not supported by this API.');
    return;
  }
  const claims = bearer === undefined || key !== '' ? undefined : readToken(bearer);
  if (!claims) throw refused(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
  if (claims.scope !== SCOPE)
    throw refused(403, 'PERMISSION_DENIED', 'Insufficient scopes', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT');
  if (project !== VERTEX.project)
    throw refused(403, 'PERMISSION_DENIED', `Permission denied on resource project ${project}.`, 'CONSUMER_INVALID');
  if (claims.email !== VERTEX.email)
    throw refused(
      403,
      'PERMISSION_DENIED',
      `Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/${project}' (or it may not exist).`,
    );
  if (!VERTEX.locations.some((one) => one === location)) throw noModel('this one', project);
}

function enterMessages(exchange: CloudExchange, model: string | undefined, verb: string): void {
  const { json } = exchange;
  if (json.anthropic_version !== 'vertex-2023-10-16') throw invalid('anthropic_version: Field required');
  if (model !== undefined && json.model !== undefined) throw invalid('model: Extra inputs are not permitted');
  if (model === undefined && textOf(json.model) === '') throw invalid('model: Field required');
  if (model !== undefined && (verb === 'streamRawPredict') !== (json.stream === true))
    throw invalid(`stream: ${verb} does not fit`);
  if (exchange.header('anthropic-version') !== '') throw invalid('anthropic-version: belongs into the body');
  // The provider's own API has both elsewhere.
  exchange.entry.headers['anthropic-version'] = '2023-06-01';
  if (model !== undefined) json.model = model;
}

function enterGenerate(exchange: CloudExchange, verb: string, model: string): void {
  const { json } = exchange;
  if (json.generateContentRequest !== undefined)
    throw refused(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received. Unknown name "generateContentRequest"');
  if (objectsOf(json.contents).some(({ role }) => role !== 'user' && role !== 'model'))
    throw refused(400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.');
  if (verb !== 'predict') return;
  const parameters = objectOf(json.parameters);
  exchange.json = {
    requests: objectsOf(json.instances).map(({ content }) => ({
      model: `models/${model}`,
      content: { parts: [{ text: textOf(content) }] },
      ...(parameters.outputDimensionality !== undefined && { outputDimensionality: parameters.outputDimensionality }),
    })),
  };
  exchange.reply = ({ embeddings, usageMetadata }) => ({
    predictions: objectsOf(embeddings).map(({ values }) => ({
      embeddings: {
        values: values ?? [],
        statistics: { token_count: objectOf(usageMetadata).promptTokenCount ?? 0, truncated: false },
      },
    })),
  });
}
