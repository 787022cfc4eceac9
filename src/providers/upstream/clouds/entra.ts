/** Access tokens of Microsoft Entra ID, by the four documented flows. Why by hand: docs/adr/0019-clouds.md */
import { randomUUID, X509Certificate } from 'node:crypto';
import type { CloudIdentity } from './bearer.ts';
import type { CloudServices } from './cloud.ts';
import { type Expiring, SignInError } from './token-cache.ts';
import { expiringToken, readTokenFile, requestJson, signJwt, type TokenRequest } from './token-request.ts';

const DEFAULT_AUTHORITY = 'https://login.microsoftonline.com';
const DEFAULT_SCOPE = 'https://cognitiveservices.azure.com/.default';
const DEFAULT_METADATA = 'http://169.254.169.254';
const ASSERTION_SECONDS = 600;
const BEARER_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Flow = (services: CloudServices, use: CloudIdentity) => TokenRequest | Promise<TokenRequest>;

const FLOWS: Readonly<Record<string, Flow>> = {
  'client-secret': (_services, use) => clientRequest(use, { client_secret: use.account.credential }),
  'client-certificate': ({ clock }, use) =>
    clientRequest(use, {
      client_assertion_type: BEARER_ASSERTION,
      client_assertion: certificateAssertion(use, Math.floor(clock.now() / 1000)),
    }),
  'workload-identity': async ({ machine }, use) =>
    clientRequest(use, {
      client_assertion_type: BEARER_ASSERTION,
      client_assertion: await readTokenFile(machine.tokenFiles.azure, 'AZURE_FEDERATED_TOKEN_FILE'),
    }),
  'managed-identity': ({ machine }, use) => managedRequest(machine, use),
};

export async function entraToken(services: CloudServices, use: CloudIdentity): Promise<Expiring<string>> {
  const flow = FLOWS[use.cloud.auth];
  if (!flow) throw new SignInError(`${use.cloud.auth} is unknown.`, 'SIGN_IN_UNKNOWN', true);
  const { access_token: token, expires_in: seconds } = await requestJson(services.http, await flow(services, use));
  return expiringToken('Entra', token, Number(seconds));
}

function tokenUrl({ cloud }: CloudIdentity): string {
  const authority = (cloud.authority ?? DEFAULT_AUTHORITY).replace(/\/+$/, '');
  return `${authority}/${encodeURIComponent(cloud.tenant ?? '')}/oauth2/v2.0/token`;
}

const clientRequest = (use: CloudIdentity, proof: Readonly<Record<string, string>>): TokenRequest => ({
  url: tokenUrl(use),
  form: {
    grant_type: 'client_credentials',
    client_id: use.cloud.client_id ?? '',
    scope: use.cloud.scope ?? DEFAULT_SCOPE,
    ...proof,
  },
  proxy: use.account.proxy,
});

const PEM = (label: string): RegExp => new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`);

/** A statement of the application about itself, signed with the key of its certificate. */
function certificateAssertion(use: CloudIdentity, now: number): string {
  const { credential } = use.account;
  const certificate = PEM('CERTIFICATE').exec(credential)?.[0];
  const key = PEM('(?:RSA )?PRIVATE KEY').exec(credential)?.[0];
  if (!certificate || !key)
    throw new SignInError('api_key is not a PEM certificate with its private key.', 'CERTIFICATE', true);
  const client = use.cloud.client_id ?? '';
  try {
    const thumbprint = Buffer.from(new X509Certificate(certificate).fingerprint256.replaceAll(':', ''), 'hex');
    const head = { alg: 'PS256' as const, typ: 'JWT', 'x5t#S256': thumbprint.toString('base64url') };
    const claims = { aud: tokenUrl(use), iss: client, sub: client, jti: randomUUID(), nbf: now, iat: now };
    return signJwt(head, { ...claims, exp: now + ASSERTION_SECONDS }, key);
  } catch {
    throw new SignInError('The certificate or its key cannot be read.', 'CERTIFICATE', true);
  }
}

/**
 * App Service and Container Apps name an endpoint of their own; virtual machines have the one of the metadata service.
 */
function managedRequest(
  { identityEndpoint, identityHeader }: CloudServices['machine'],
  { cloud }: CloudIdentity,
): TokenRequest {
  const resource = (cloud.scope ?? DEFAULT_SCOPE).replace(/\/\.default$/, '');
  const client = cloud.client_id === undefined ? {} : { client_id: cloud.client_id };
  const isHosted = identityEndpoint !== undefined && identityHeader !== undefined && cloud.metadata_url === undefined;
  const endpoint = isHosted
    ? identityEndpoint
    : `${(cloud.metadata_url ?? DEFAULT_METADATA).replace(/\/+$/, '')}/metadata/identity/oauth2/token`;
  const query = new URLSearchParams({ 'api-version': isHosted ? '2019-08-01' : '2018-02-01', resource, ...client });
  return {
    method: 'GET',
    url: `${endpoint}?${query}`,
    headers: isHosted ? ['x-identity-header', identityHeader] : ['metadata', 'true'],
    proxy: 'none',
  };
}
