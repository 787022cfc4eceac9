/**
 * Access tokens of Google Cloud: by the key of a service account,
 * by workload identity federation, or from the machine's metadata.
 */
import type { CloudIdentity } from './bearer.ts';
import type { CloudServices } from './cloud.ts';
import { type Expiring, SignInError } from './token-cache.ts';
import { expiringToken, type JwtHead, parseObject, readTokenFile, requestJson, signJwt } from './token-request.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const DEFAULT_STS = 'https://sts.googleapis.com';
const DEFAULT_IAM = 'https://iamcredentials.googleapis.com';
const DEFAULT_METADATA = 'http://metadata.google.internal';
const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token';
const LIFE_SECONDS = 3_600;

type Flow = (services: CloudServices, use: CloudIdentity) => Promise<Expiring<string>>;

const FLOWS: Readonly<Record<string, Flow>> = {
  'service-account': byServiceAccount,
  'workload-identity': byFederation,
  metadata: byMetadata,
};

export function googleToken(services: CloudServices, use: CloudIdentity): Promise<Expiring<string>> {
  const flow = FLOWS[use.cloud.auth];
  if (flow) return flow(services, use);
  return Promise.reject(new SignInError(`${use.cloud.auth} is unknown.`, 'SIGN_IN_UNKNOWN', true));
}

async function byServiceAccount({ clock, http }: CloudServices, { account }: CloudIdentity): Promise<Expiring<string>> {
  const {
    client_email: email,
    private_key: key,
    private_key_id: id,
    token_uri,
  } = parseObject(account.credential) ?? {};
  if (typeof email !== 'string' || typeof key !== 'string')
    throw new SignInError('api_key is not the JSON key of a service account.', 'SERVICE_ACCOUNT_KEY', true);
  const url = typeof token_uri === 'string' ? token_uri : DEFAULT_TOKEN_URI;
  const now = Math.floor(clock.now() / 1000);
  const claims = { iss: email, scope: SCOPE, aud: url, iat: now, exp: now + LIFE_SECONDS };
  const assertion = signedBy(key, { alg: 'RS256', typ: 'JWT', ...(typeof id === 'string' && { kid: id }) }, claims);
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  return tokenIn(await requestJson(http, { url, form, proxy: account.proxy }));
}

function signedBy(key: string, head: JwtHead & { readonly alg: 'RS256' }, claims: object): string {
  try {
    return signJwt(head, claims, key);
  } catch {
    throw new SignInError('The private key of the service account cannot be read.', 'SERVICE_ACCOUNT_KEY', true);
  }
}

/** The token of another provider becomes one of Google, and with `service_account` one of that account. */
async function byFederation(services: CloudServices, use: CloudIdentity): Promise<Expiring<string>> {
  const { http, machine } = services;
  const { cloud, account } = use;
  const federated = await requestJson(http, {
    url: `${(cloud.token_url ?? DEFAULT_STS).replace(/\/+$/, '')}/v1/token`,
    form: {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: cloud.audience ?? '',
      scope: SCOPE,
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: await readTokenFile(machine.tokenFiles.google, 'GOOGLE_FEDERATED_TOKEN_FILE'),
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    },
    proxy: account.proxy,
  });
  const own = tokenIn(federated);
  return cloud.service_account === undefined ? own : impersonated(services, use, own.value);
}

async function impersonated({ http, clock }: CloudServices, { cloud, account }: CloudIdentity, token: string) {
  const path = `/v1/projects/-/serviceAccounts/${encodeURIComponent(cloud.service_account ?? '')}:generateAccessToken`;
  const { accessToken, expireTime } = await requestJson(http, {
    url: (cloud.token_url ?? DEFAULT_IAM).replace(/\/+$/, '') + path,
    headers: ['authorization', `Bearer ${token}`, 'content-type', 'application/json'],
    body: JSON.stringify({ scope: [SCOPE], lifetime: `${LIFE_SECONDS}s` }),
    proxy: account.proxy,
  });
  return expiringToken('Google', accessToken, (Date.parse(String(expireTime)) - clock.now()) / 1000);
}

async function byMetadata({ http }: CloudServices, { cloud }: CloudIdentity): Promise<Expiring<string>> {
  const base = (cloud.metadata_url ?? DEFAULT_METADATA).replace(/\/+$/, '');
  const name = encodeURIComponent(cloud.service_account ?? 'default');
  return tokenIn(
    await requestJson(http, {
      method: 'GET',
      url: `${base}/computeMetadata/v1/instance/service-accounts/${name}/token`,
      headers: ['metadata-flavor', 'Google'],
      proxy: 'none',
    }),
  );
}

const tokenIn = ({ access_token: token, expires_in: seconds }: Readonly<Record<string, unknown>>): Expiring<string> =>
  expiringToken('Google', token, Number(seconds));
