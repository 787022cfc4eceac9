/**
 * A resource of Azure OpenAI and its directory: Entra's token endpoint, the metadata service of a machine, and the two
 * forms of the API. Checks the form, the audience and the role of a credential, versions, and names of deployments.
 */
import { constants, verify, X509Certificate } from 'node:crypto';
import { Failure } from '../errors.ts';
import { textOf } from '../json.ts';
import type { CloudCall, CloudExchange, TokenAnswer, TokenCall } from './cloud-call.ts';
import { decodePart, issueToken, nowSeconds, readToken } from './tokens.ts';

export const AZURE = {
  key: 'azure-resource-key-0123456789',
  tenant: '0d0d0d0d-1111-2222-3333-444444444444',
  app: { id: 'aaaaaaaa-0000-0000-0000-000000000001', secret: 'azure~client~secret~0123456789' },
  /** Gets tokens, but has no role at the resource. */
  stranger: { id: 'aaaaaaaa-0000-0000-0000-000000000002', secret: 'azure~other~secret~0123456789' },
  /** What Kubernetes puts into the token file of the application. */
  federatedToken: 'federated.token.of.the.service.account',
  managedId: 'aaaaaaaa-0000-0000-0000-000000000003',
} as const;

const AUDIENCES = ['https://cognitiveservices.azure.com', 'https://ai.azure.com'];
const OTHER_AUDIENCES = ['https://management.azure.com', 'https://storage.azure.com'];
const VERSIONS = ['2024-06-01', '2024-10-21', '2025-03-01-preview', '2025-04-01-preview'];
const RESPONSES_VERSIONS = ['2025-03-01-preview', '2025-04-01-preview'];
const V1_VERSIONS = [null, 'preview', 'v1', 'latest'];
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const TOKEN_SECONDS = 3_600;

/** Certificates that were uploaded to the application. */
export type Certificates = Map<string, string>;

// ---------------------------------------------------------------- the directory and the machine

const TOKEN_PATH = /^\/([^/]+)\/oauth2\/v2\.0\/token$/;
const METADATA_PATH = '/metadata/identity/oauth2/token';

/** Undefined for requests that are not for a token. */
export function azureToken(
  { method, path, query, headers, body }: TokenCall,
  certificates: Certificates,
): TokenAnswer | undefined {
  const tenant = TOKEN_PATH.exec(path)?.[1];
  if (tenant !== undefined) return entraAnswer(tenant, method, new URLSearchParams(body), certificates);
  if (path !== METADATA_PATH) return undefined;
  return metadataAnswer(method, new URLSearchParams(query), headers);
}

function entraAnswer(tenant: string, method: string, form: URLSearchParams, certificates: Certificates): TokenAnswer {
  const fail = (status: number, error: string, description: string): TokenAnswer => ({
    status,
    body: { error, error_description: description, error_codes: [Number(/\d+/.exec(description)?.[0])] },
  });
  if (method !== 'POST') return fail(405, 'invalid_request', 'AADSTS900561: The endpoint only accepts POST requests.');
  if (tenant !== AZURE.tenant) return fail(400, 'invalid_request', `AADSTS90002: Tenant '${tenant}' not found.`);
  if (form.get('grant_type') !== 'client_credentials')
    return fail(400, 'unsupported_grant_type', 'AADSTS70003: The app requested an unsupported grant type.');
  const app = [AZURE.app, AZURE.stranger].find(({ id }) => id === form.get('client_id'));
  if (!app)
    return fail(
      400,
      'unauthorized_client',
      `AADSTS700016: Application with identifier was not found in the directory.`,
    );
  const scope = form.get('scope') ?? '';
  const audience = scope.replace(/\/\.default$/, '');
  if (!scope.endsWith('/.default'))
    return fail(400, 'invalid_scope', 'AADSTS1002012: The provided value for scope is not valid.');
  if (![...AUDIENCES, ...OTHER_AUDIENCES].includes(audience))
    return fail(400, 'invalid_resource', `AADSTS500011: The resource principal named ${audience} was not found.`);
  const refusal = form.has('client_secret')
    ? form.get('client_secret') !== app.secret && 'AADSTS7000215: Invalid client secret provided.'
    : assertionRefusal(form, tenant, certificates);
  if (refusal) return fail(401, 'invalid_client', refusal);
  const token = issueToken({ aud: audience, appid: app.id }, TOKEN_SECONDS);
  return { status: 200, body: { token_type: 'Bearer', expires_in: TOKEN_SECONDS, access_token: token } };
}

/** Why an assertion is rejected; undefined when it is good. */
function assertionRefusal(form: URLSearchParams, tenant: string, certificates: Certificates): string | undefined {
  const assertion = form.get('client_assertion') ?? '';
  if (form.get('client_assertion_type') !== ASSERTION) return 'AADSTS7000218: The request body must contain a secret.';
  if (assertion === AZURE.federatedToken) return undefined;
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  const [header, body] = [decodePart(head), decodePart(claims)];
  if (!header || !body) return 'AADSTS700213: No matching federated identity record found for presented assertion.';
  const pem = certificates.get(form.get('client_id') ?? '');
  const thumbprint =
    pem && Buffer.from(new X509Certificate(pem).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
  if (!pem || header['x5t#S256'] !== thumbprint) return 'AADSTS700027: The certificate is not registered.';
  const key = {
    key: new X509Certificate(pem).publicKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  };
  const isSigned = verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
  if (header.alg !== 'PS256' || !isSigned) return 'AADSTS700027: The signature of the assertion is not valid.';
  const id = form.get('client_id');
  if (body.iss !== id || body.sub !== id || textOf(body.jti) === '') return 'AADSTS700023: Issuer or subject is wrong.';
  if (!textOf(body.aud).endsWith(`/${tenant}/oauth2/v2.0/token`)) return 'AADSTS50027: The audience is wrong.';
  const now = nowSeconds();
  const isTimely = Number(body.nbf) <= now + 5 && Number(body.exp) > now && Number(body.exp) < now + 3_600;
  return isTimely ? undefined : 'AADSTS700024: Client assertion is not within its valid time range.';
}

function metadataAnswer(
  method: string,
  query: URLSearchParams,
  headers: Readonly<Record<string, string>>,
): TokenAnswer {
  const fail = (description: string): TokenAnswer => ({
    status: 400,
    body: { error: 'invalid_request', error_description: description },
  });
  if (method !== 'GET' || headers.metadata !== 'true') return fail('Required metadata header not specified');
  if (query.get('api-version') !== '2018-02-01') return fail('Required query variable api-version is missing');
  const client = query.get('client_id');
  if (client !== null && client !== AZURE.managedId) return fail('Identity not found');
  const audience = query.get('resource') ?? '';
  const token = issueToken({ aud: audience, appid: AZURE.app.id }, TOKEN_SECONDS);
  return {
    status: 200,
    body: { access_token: token, expires_in: String(TOKEN_SECONDS), token_type: 'Bearer', resource: audience },
  };
}

// ---------------------------------------------------------------- the resource

const DEPLOYMENT_PATH = /^\/openai\/deployments\/([^/]+)(\/(?:chat\/completions|embeddings|images\/\w+))$/;

/** Undefined for paths of other providers. */
export function azureCall(path: string): CloudCall | undefined {
  if (!path.startsWith('/openai/')) return undefined;
  const [, deployment, rest] = DEPLOYMENT_PATH.exec(path) ?? [];
  const isV1 = path.startsWith('/openai/v1/');
  const own = rest === undefined ? path.replace(/^\/openai(?:\/v1)?/, '') : rest;
  return {
    cloud: 'azure',
    path: `/v1${own}`,
    shape: 'openai',
    enter(exchange) {
      checkCredential(exchange);
      checkVersion(exchange, isV1, own);
      if (deployment !== undefined) exchange.json.model = decodeURIComponent(deployment);
      const name = textOf(exchange.json.model);
      if (name.startsWith('missing-')) throw NO_DEPLOYMENT;
      if (/please filter/i.test(exchange.body.toString())) throw FILTERED;
    },
  };
}

const NO_DEPLOYMENT = new Failure(404, 'The API deployment for this resource does not exist.', {
  whole: {
    error: {
      code: 'DeploymentNotFound',
      message:
        'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    },
  },
});

const ANALYSIS = { hate: { filtered: true, severity: 'high' }, jailbreak: { filtered: false, detected: false } };
const FILTERED = new Failure(400, 'filtered', {
  whole: {
    error: {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: ANALYSIS },
    },
  },
});

const refused = (code: string, message: string): Failure =>
  new Failure(401, message, { whole: { error: { code, message } } });

function checkCredential(exchange: CloudExchange): void {
  const key = exchange.header('api-key');
  const bearer = /^Bearer (.+)$/.exec(exchange.header('authorization'))?.[1];
  if (key !== '' && bearer === undefined) {
    if (key === AZURE.key) return;
    throw refused('401', 'Access denied due to invalid subscription key or wrong API endpoint.');
  }
  const claims = bearer === undefined || key !== '' ? undefined : readToken(bearer);
  if (!claims || !AUDIENCES.includes(textOf(claims.aud)))
    throw refused(
      '401',
      'Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired.',
    );
  if (claims.appid === AZURE.app.id) return;
  throw refused(
    'PermissionDenied',
    `The principal \`${textOf(claims.appid)}\` lacks the required data action \`Microsoft.CognitiveServices/accounts/OpenAI/deployments/chat/completions/action\`.`,
  );
}

function checkVersion(exchange: CloudExchange, isV1: boolean, path: string): void {
  const version = exchange.query.get('api-version');
  const dated = path.startsWith('/responses') ? RESPONSES_VERSIONS : VERSIONS;
  const known = isV1 ? V1_VERSIONS : dated;
  if (known.some((one) => one === version)) return;
  throw new Failure(404, 'Resource not found', { whole: { error: { code: '404', message: 'Resource not found' } } });
}

/** What Azure adds to the chunks and choices of chat completions. */
export const CONTENT_FILTER = {
  prompt: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }],
  choice: { hate: { filtered: false, severity: 'safe' } },
};
