/**
 * Credentials of AWS: keys, a role by the token of Kubernetes,
 * of a container or of a machine, and any acting as another role.
 */
import type { HttpRequest } from '../../../platform/http/index.ts';
import type { CloudIdentity } from './bearer.ts';
import type { CloudServices } from './cloud.ts';
import { type AwsCredentials, signV4 } from './sigv4.ts';
import { type Expiring, SignInError } from './token-cache.ts';
import { parseObject, readTokenFile, requestToken, type TokenRequest } from './token-request.ts';

const DEFAULT_METADATA = 'http://169.254.169.254';
const CONTAINER_HOST = 'http://169.254.170.2';
const SESSION_SECONDS = 3_600;
const LONG_MS = 12 * 3_600_000;

type Source = (services: CloudServices, identity: CloudIdentity) => Promise<Expiring<AwsCredentials>>;

const SOURCES: Readonly<Record<string, Source>> = {
  'access-key': (_services, { account }) => Promise.resolve({ value: keysIn(account.credential), lifeMs: LONG_MS }),
  'web-identity': byWebIdentity,
  container: byContainer,
  instance: byInstance,
};

export async function awsCredentials(
  services: CloudServices,
  identity: CloudIdentity,
): Promise<Expiring<AwsCredentials>> {
  const { auth, role_arn: role } = identity.cloud;
  const source = SOURCES[auth];
  if (!source) throw new SignInError(`${auth} is unknown.`, 'SIGN_IN_UNKNOWN', true);
  const own = await source(services, identity);
  return role === undefined || auth === 'web-identity' ? own : assumeRole(services, identity, own.value);
}

/** `ID:SECRET`, or `ID:SECRET:TOKEN` for temporary keys. */
function keysIn(credential: string): AwsCredentials {
  const [id = '', secret = '', ...token] = credential.split(':');
  if (id === '' || secret === '')
    throw new SignInError('api_key is not ACCESS_KEY_ID:SECRET_ACCESS_KEY.', 'ACCESS_KEY', true);
  return { id, secret, token: token.length > 0 ? token.join(':') : undefined };
}

const stsForm = (action: string, { cloud }: CloudIdentity): Record<string, string> => ({
  Action: action,
  Version: '2011-06-15',
  RoleArn: cloud.role_arn ?? '',
  RoleSessionName: 'dragoman',
  DurationSeconds: String(SESSION_SECONDS),
});

async function byWebIdentity(services: CloudServices, identity: CloudIdentity): Promise<Expiring<AwsCredentials>> {
  const token = await readTokenFile(services.machine.tokenFiles.aws, 'AWS_WEB_IDENTITY_TOKEN_FILE');
  const form = { ...stsForm('AssumeRoleWithWebIdentity', identity), WebIdentityToken: token };
  return stsCredentials(services, identity, { form });
}

async function assumeRole(
  services: CloudServices,
  identity: CloudIdentity,
  own: AwsCredentials,
): Promise<Expiring<AwsCredentials>> {
  const sign = (request: HttpRequest): HttpRequest =>
    signV4(request, own, { region: identity.cloud.region ?? 'us-east-1', service: 'sts', now: services.clock.now() });
  return stsCredentials(services, identity, { form: stsForm('AssumeRole', identity), sign });
}

async function stsCredentials(
  { http, clock }: CloudServices,
  { account, cloud }: CloudIdentity,
  request: Pick<TokenRequest, 'form' | 'sign'>,
): Promise<Expiring<AwsCredentials>> {
  const base = cloud.token_url ?? `https://sts.${cloud.region ?? 'us-east-1'}.amazonaws.com`;
  const url = `${base.replace(/\/+$/, '')}/`;
  const { text } = await requestToken(http, { ...request, url, accept: 'text/xml', proxy: account.proxy });
  const tag = (name: string): string | undefined => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  const found = { id: tag('AccessKeyId'), secret: tag('SecretAccessKey'), token: tag('SessionToken') };
  return expiring(found, tag('Expiration'), clock.now());
}

async function byContainer(services: CloudServices): Promise<Expiring<AwsCredentials>> {
  const { containerPath, containerUrl, containerToken, containerTokenFile } = services.machine;
  const url = containerUrl ?? (containerPath === undefined ? undefined : CONTAINER_HOST + containerPath);
  if (url === undefined)
    throw new SignInError('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set on this machine.', 'CONTAINER', true);
  const token =
    containerTokenFile === undefined
      ? containerToken
      : await readTokenFile(containerTokenFile, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const headers = token === undefined ? [] : ['authorization', token];
  return machineCredentials(services, { method: 'GET', url, headers, proxy: 'none' });
}

/** The second version of the metadata service: a token first, which a request from elsewhere cannot get. */
async function byInstance(services: CloudServices, { cloud }: CloudIdentity): Promise<Expiring<AwsCredentials>> {
  const base = `${(cloud.metadata_url ?? DEFAULT_METADATA).replace(/\/+$/, '')}/latest`;
  const session = await requestToken(services.http, {
    method: 'PUT',
    url: `${base}/api/token`,
    headers: ['x-aws-ec2-metadata-token-ttl-seconds', '300'],
    proxy: 'none',
  });
  const headers = ['x-aws-ec2-metadata-token', session.text.trim()];
  const list = `${base}/meta-data/iam/security-credentials/`;
  const { text: roles } = await requestToken(services.http, { method: 'GET', url: list, headers, proxy: 'none' });
  const role = encodeURIComponent(roles.trim().split('\n')[0] ?? '');
  return machineCredentials(services, { method: 'GET', url: list + role, headers, proxy: 'none' });
}

async function machineCredentials(
  { http, clock }: CloudServices,
  request: TokenRequest,
): Promise<Expiring<AwsCredentials>> {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } =
    parseObject((await requestToken(http, request)).text) ?? {};
  return expiring({ id: AccessKeyId, secret: SecretAccessKey, token: Token }, Expiration, clock.now());
}

function expiring(
  { id, secret, token }: Readonly<Record<keyof AwsCredentials, unknown>>,
  until: unknown,
  now: number,
): Expiring<AwsCredentials> {
  const lifeMs = Date.parse(String(until)) - now;
  if (typeof id === 'string' && typeof secret === 'string' && typeof token === 'string' && lifeMs > 0)
    return { value: { id, secret, token }, lifeMs };
  throw new SignInError('AWS responded without credentials.', 'TOKEN_MISSING', false);
}
