/** The settings: environment variables with their defaults and descriptions. Only this module reads the environment. */
import { z } from 'zod';
import { DAY_MS, isProxyUrl, PROXY_EXPECTED, parseMasterKeys, parseNanos } from '../core/index.ts';
import * as rules from '../rules/index.ts';
import type { SettingReport } from '../schemas/index.ts';

/** All issues of one setting have the same text, which names the range. */
const integer = (min: number, max?: number) => {
  const expected = `must be a whole number ${max === undefined ? `of at least ${min}` : `from ${min} to ${max}`}`;
  return z.coerce
    .number(expected)
    .int(expected)
    .min(min, expected)
    .max(max ?? Number.MAX_SAFE_INTEGER, expected);
};
const optionalInteger = (min: number, max?: number) => integer(min, max).optional();
/** With the value that counts where none is given. */
const integerOr = (fallback: number, min: number, max?: number) => integer(min, max).default(fallback);
const port = integer(0, 65_535);
const optionalPort = port.optional();
const text = z.string().min(1);
const optionalText = text.optional();
const amount = text.refine((given) => (parseNanos(given) ?? -1n) >= 0n, 'must be a decimal amount such as 0.1');
const matching = (form: RegExp, expected: string) => z.string().regex(form, expected).optional();
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }).optional();
const oneOf = <const T extends readonly string[]>(names: T) =>
  z.enum(names, `must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`);
/** Comma-separated items, each in the form that `read` returns; one that it does not know is an issue. */
const listOf = <T>(read: (item: string, n: number, all: readonly string[]) => T | undefined, expected: string) =>
  z
    .string()
    .default('')
    .transform((given, context) => {
      const items = given.split(',').flatMap((item) => item.trim() || []);
      const known = items.map(read);
      if (known.includes(undefined)) context.addIssue(`must be ${expected}, separated by commas`);
      return known.filter((item) => item !== undefined);
    });
const proxyUrl = z.string().refine(isProxyUrl, `must be ${PROXY_EXPECTED}`).optional();
/** A URL with the scheme, or with the scheme and an `s` for TLS. */
const urlOf = (scheme: string, example: string) =>
  z
    .string()
    .regex(new RegExp(`^${scheme}s?://`), `must start with ${scheme}:// or ${scheme}s://`)
    .refine((text) => URL.canParse(text), `must be a URL such as ${example}`)
    .optional();
const millisecondsOr = (fallback: number) => integerOr(fallback, 0, DAY_MS);
const bodyBytes = integer(1024).optional();

/** An account names no file, because it could send any file of the machine elsewhere. */
const tokenFile = (cloud: string, setBy: string) =>
  optionalText.describe(`file with the token that accounts exchange at ${cloud}; set by ${setBy}`);

/** Undefined unless the text is an origin: scheme, host and port only. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const isOrigin = url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` && !text.includes('@');
  return isOrigin ? url.origin : undefined;
}

/**
 * Also origins of extensions and desktop apps, such as `app://local`.
 * A star stands alone: an origin with one inside would never match.
 */
function browserOriginOf(text: string, _n: number, all: readonly string[]): string | undefined {
  if (text.includes('*')) return text === '*' && all.length === 1 ? text : undefined;
  if (/^https?:/i.test(text)) return originOf(text);
  return /^[a-z][a-z0-9+.-]*:\/\/[\w.:-]+$/i.test(text) ? text.toLowerCase() : undefined;
}

/**
 * An issuer is compared as text with what the provider states about itself.
 * Plain HTTP is for providers on this machine.
 */
const isIssuer = (text: string): boolean => {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && /^(?:127\.[\d.]+|localhost|\[::1\])$/.test(url.hostname);
  return url !== null && (url.protocol === 'https:' || isLocal) && url.search === '' && url.hash === '';
};

/** `ana@example.com` or `groups=gateway-admins`. */
function operatorRuleOf(text: string): { email: string } | { claim: string; value: string } | undefined {
  const [, claim = '', value = ''] = /^([\w.:/-]+)=(.+)$/.exec(text) ?? [];
  if (claim !== '') return { claim, value };
  return z.email().safeParse(text).success ? { email: text } : undefined;
}

const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
  .refine(
    (url) => !/[?&]target_session_attrs=(?!(?:read-write|primary)(?:&|$))/.test(url),
    'must have target_session_attrs=read-write or none, because Dragoman writes',
  );

const Settings = z.strictObject({
  HOST: z.string().default('127.0.0.1').describe('address the public API listens on'),
  PORT: port.default(8080).describe('port the public API listens on; 0 picks a free one'),
  DATABASE_URL: databaseUrl
    .optional()
    .describe(
      'URL of a PostgreSQL 15 or later, with several hosts for a primary and its standbys ' +
        '(`postgres://a:5432,b:5432/name`); without it an embedded PostgreSQL runs under DATA_DIR',
    ),
  DATABASE_DIRECT_URL: databaseUrl
    .optional()
    .describe('URL of PostgreSQL itself, where DATABASE_URL leads to a connection pooler in transaction mode'),
  DATA_DIR: text.default('./data').describe('directory of the usage journal, the embedded database and the master key'),
  REDIS_URL: urlOf('redis', 'redis://user:password@host:6379/0').describe(
    'URL of a Redis 6 or later, or Valkey, that shares rate limits between servers; ' +
      'without it each server counts for itself',
  ),
  RATE_LIMIT_BURST: integerOr(100, 2, 100).describe(
    'percent of a limit of requests per minute that is admitted within one second; 100 admits all of it at ' +
      'once, 2 little more than an even rate; no minute ever admits more than the limit',
  ),
  TLS_CERT: optionalText.describe(
    'PEM file of the certificate and its chain; ' +
      'with TLS_KEY the server speaks HTTPS, and reads both files again when they change',
  ),
  TLS_KEY: optionalText.describe('PEM file of the private key of TLS_CERT, not encrypted'),
  PUBLIC_URL: httpUrl.describe('base URL of links in responses; default http://HOST:PORT, https:// with TLS_CERT'),
  MASTER_KEY: z
    .string()
    .refine((text) => parseMasterKeys(text), 'must be k1:SECRET or k2:NEW,k1:OLD, each secret at least 32 characters')
    .optional()
    .describe(
      'encrypts stored credentials; default: a file in DATA_DIR, created at the first start; k2:NEW,k1:OLD rotates it',
    ),
  ADMIN_TOKEN: matching(
    /^(?!dg-)[\x21-\x7e]{20,256}$/,
    'must be 20 to 256 visible ASCII characters that do not start with dg-',
  ).describe('token of the admin API; default: created and printed at the first start, stored encrypted'),
  DEMO: oneOf(['auto', 'on', 'off'])
    .default('auto')
    .describe('auto installs the demo on an empty embedded database; on always; off never'),
  DEMO_PORT: optionalPort.describe(
    'port of the simulated providers of the demo; default 4010, or a free one if that is taken',
  ),
  LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('minimum log level'),
  WORKERS: optionalInteger(1, 64).describe(
    'processes that serve requests on PORT; 1 runs everything in one process; default: ' +
      'the cores that the process may use, at most 8',
  ),
  DRAIN_BEFORE_MS: millisecondsOr(0).describe(
    'time at shutdown in which `/readyz` fails and requests are still served, so that load balancers turn away first',
  ),
  DRAIN_MS: millisecondsOr(30_000).describe('time for open requests to finish at shutdown'),
  HEARTBEAT_MS: millisecondsOr(rules.HEARTBEAT_MS).describe('idle time of a stream after which a heartbeat is sent'),
  STALLED_CLIENT_MS: millisecondsOr(rules.STALLED_CLIENT_MS).describe(
    'close the connection when the client reads nothing for this long',
  ),
  BODY_LIMIT_TEXT: bodyBytes.describe('largest body of a text request in bytes; default 32 MiB'),
  BODY_LIMIT_IMAGE: bodyBytes.describe('largest body of an image request in bytes; default 64 MiB'),
  BODY_MEMORY_BYTES: optionalInteger(2 ** 20).describe(
    'bytes of all large request bodies in memory, after decompression and with their working copies; ' +
      'further ones get 503, and a key with more than its share 429; ' +
      'default 30 % of the memory limit of the container, without one 512 MiB',
  ),
  KEPT_PROMPT_BYTES: optionalInteger(0).describe(
    'bytes of prompts above 32 KiB that stay in memory for three minutes, ' +
      'so that the next turn of a conversation is read from its new part on; part of BODY_MEMORY_BYTES, ' +
      'and given up when bodies need it; 0 keeps none; default an eighth of BODY_MEMORY_BYTES',
  ),
  ACCOUNT_QUEUE_MS: integerOr(rules.ACCOUNT_QUEUE.waitMs, 0, rules.ACCOUNT_QUEUE.mostMs).describe(
    'longest wait of a request for a slot while all upstream accounts are full; 0 refuses it at once',
  ),
  SHEDDING: oneOf(['on', 'off'])
    .default('on')
    .describe('on refuses requests with 503 while the server is overloaded, lists first; off never does'),
  MAX_CONNECTIONS: optionalInteger(1).describe(
    'open client connections; at the limit idle ones are closed, or else new ones get 503; default: ' +
      'half of the open files that the system allows, minus a reserve of 256, at most 10000',
  ),
  MAX_CONNECTIONS_PER_ADDRESS: optionalInteger(1).describe(
    'open connections of one client address (IPv6: /64 network), further ones get 503; ' +
      'not for addresses in TRUST_PROXY; default: half of MAX_CONNECTIONS',
  ),
  USAGE_FLUSH_MS: integerOr(1_000, 200, 2_000).describe(
    'milliseconds between two writes of usage to the database under load; ' +
      'a lower value shows charges sooner, a higher one takes less CPU time',
  ),
  USAGE_WAIT_MS: integerOr(rules.USAGE_WAIT_MS, 0, 60_000).describe(
    'time for a provider to report the usage of a reply whose client has disconnected in or after its ' +
      'content; without a report in time the charge is estimated; 0 waits for none',
  ),
  STORED_RESPONSES_DAYS: integerOr(30, 0, 365).describe(
    'days that responses are stored for later reference; 0 stores none',
  ),
  FILE_DAYS: integerOr(30, 0, 365).describe('days that uploaded files are kept; 0 takes none'),
  FILE_PRICE: amount
    .default('0')
    .describe('US dollars per GiB for what a user keeps in files, charged once every UTC day; 0 charges nothing'),
  RESULT_MIRROR_DIR: optionalText.describe(
    'existing folder, local or mounted and shared by all servers and workers, in which results of video ' +
      'tasks are kept after one download; without it every read goes to the provider',
  ),
  RESULT_MIRROR_AT: oneOf(['read', 'success'])
    .default('read')
    .describe('when a result is mirrored: at its first read, or by a job as soon as its task has succeeded'),
  RESULT_MIRROR_DAYS: integerOr(7, 1, 3650).describe('days that mirrored results are kept'),
  RESULT_MIRROR_MAX_BYTES: integerOr(20 * 2 ** 30, 2 ** 20).describe(
    'bytes of all mirrored results together; the oldest are removed first; default 20 GiB',
  ),
  VIDEO_CREATES_PER_MINUTE: integerOr(rules.VIDEO_REQUESTS_PER_MINUTE.create, 1, 1_000_000).describe(
    'creates of each kind of video object that one user may request per minute; `video_creates` of a user replaces it',
  ),
  VIDEO_POLLS_PER_SECOND: integerOr(rules.ACCOUNT_RATES.getsPerSecond, 1, 10_000).describe(
    'reads of tasks that one video account gets per second; `polls_per_second` of an account replaces it',
  ),
  RESULT_LINK_SECONDS: integerOr(0, 0, 86_400).describe(
    'how long signed links to results of video tasks work, which need no API key; ' +
      'callers must ask for them; 0 gives none',
  ),
  USAGE_RETENTION_MONTHS: integerOr(13, 0, 1200).describe(
    'calendar months that single usage records are kept; 0 keeps all; daily sums and charges are always kept',
  ),
  REQUEST_LOG_DAYS: integerOr(14, 0, 365).describe(
    'UTC days before today that the request log is kept; 0 writes none; charts read roll-ups of 400 days',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.describe(
    'base URL of an OpenTelemetry receiver (OTLP over HTTP, JSON) that gets a trace of every call; unset sends none',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: matching(
    /^[\w-]+=[^,=]+(,[\w-]+=[^,]+)*$/,
    'must be name=value pairs separated by commas',
  ).describe('headers for that receiver, such as authorization=Bearer%20TOKEN; values are percent-encoded'),
  OTEL_SERVICE_NAME: text.default('dragoman').describe('name of this service in traces'),
  ALARM_CHECK_MS: integerOr(60_000, 100, DAY_MS).describe(
    'interval at which a job verifies the ledger and checks for alarms',
  ),
  AUTH_FAILURES_PER_MINUTE: integerOr(60, 1).describe(
    'failed authentications per address and minute before further failures get 429; valid credentials always pass',
  ),
  CONSOLE_DIR: optionalText.describe('folder of the built console; default: dist/console of the installation'),
  OIDC_ISSUER: z
    .string()
    .refine(isIssuer, 'must be an https:// URL without query, or http:// on this machine')
    .optional()
    .describe('issuer of an OpenID provider; with OIDC_CLIENT_ID people may sign in to the console with it'),
  OIDC_CLIENT_ID: optionalText.describe('client id of the console at the OpenID provider'),
  OIDC_CLIENT_SECRET: optionalText.describe('client secret; unset for a public client'),
  OIDC_SCOPE: text.default('openid email profile').describe('scopes that the console asks for'),
  OIDC_OPERATORS: listOf(operatorRuleOf, 'e-mail addresses or rules such as groups=gateway-admins').describe(
    'who becomes an operator by signing in with OpenID Connect: comma-separated e-mail addresses, ' +
      'or claims such as groups=gateway-admins; all others need an invitation',
  ),
  SMTP_URL: urlOf('smtp', 'smtps://user:password@mail.example:465').describe(
    'URL of a mail server, with its user and password; without it warnings send no mail',
  ),
  SMTP_FROM: matching(
    /^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/,
    'must be an address such as Dragoman <gateway@example.com>',
  ).describe('sender of mail about warnings'),
  METRICS_TOKEN: matching(/^[\x21-\x7e]{20,256}$/, 'must be 20 to 256 visible ASCII characters').describe(
    'bearer token that GET /metrics requires; without it the metrics are open',
  ),
  METRICS_PORT: optionalPort.describe('port on HOST that serves GET /metrics instead of PORT; 0 picks a free one'),
  HEALTH_PORT: optionalPort.describe(
    'port on HOST that serves GET /healthz and /readyz from a thread of their own, without TLS, ' +
      'also while a flood keeps PORT busy; 0 picks a free one',
  ),
  HTTPS_PROXY: proxyUrl.describe(
    'URL of the proxy for accounts with an https:// base URL, unless an account names its own; also in lower case',
  ),
  HTTP_PROXY: proxyUrl.describe('the same for accounts with an http:// base URL; also in lower case'),
  NO_PROXY: z
    .string()
    .optional()
    .describe(
      'comma-separated exceptions from both: hosts with their subdomains, suffixes such as .example.com, ' +
        'host:port, networks, or *; this machine is never proxied; also in lower case',
    ),
  TRUST_PROXY: z
    .string()
    .default('')
    .describe('comma-separated addresses or networks of proxies whose X-Forwarded-For header is trusted'),
  CORS_ORIGINS: listOf(browserOriginOf, '* or origins such as https://app.example').describe(
    'comma-separated origins whose scripts may call the API from a browser, or * for all; ' +
      'never the admin API; unset allows none',
  ),
  EGRESS_ALLOW: listOf(originOf, 'origins such as http://127.0.0.1:9000').describe(
    'comma-separated origins that media URLs in requests may use although they are private; ' +
      'for tests and private networks',
  ),
  AZURE_FEDERATED_TOKEN_FILE: tokenFile('Entra', 'workload identity of Kubernetes'),
  GOOGLE_FEDERATED_TOKEN_FILE: tokenFile('Google Cloud', 'you, for workload identity federation'),
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile('AWS', 'EKS, for roles of service accounts'),
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: matching(/^\//, 'must be a path').describe(
    'path of the credentials of a container; set by ECS',
  ),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: httpUrl.describe(
    'URL of the credentials of a container; set by EKS Pod Identity',
  ),
  AWS_CONTAINER_AUTHORIZATION_TOKEN: z.string().optional().describe('secret for that URL'),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: optionalText.describe(
    'file with the secret for that URL; set by EKS Pod Identity',
  ),
  IDENTITY_ENDPOINT: httpUrl.describe('endpoint of managed identities; set by Azure App Service and Container Apps'),
  IDENTITY_HEADER: z.string().optional().describe('secret for IDENTITY_ENDPOINT; set by the same'),
});

/** Settings of which one needs the other. */
const PAIRS = [
  ['TLS_CERT', 'TLS_KEY'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
  ['SMTP_URL', 'SMTP_FROM'],
] as const;

const Environment = Settings.superRefine((settings, context) => {
  for (const [one, other] of PAIRS) {
    if ((settings[one] === undefined) === (settings[other] === undefined)) continue;
    const [missing, given] = settings[one] === undefined ? [one, other] : [other, one];
    context.addIssue({ code: 'custom', path: [missing], message: `must be set together with ${given}` });
  }
  if (settings.DATABASE_DIRECT_URL !== undefined && settings.DATABASE_URL === undefined)
    context.addIssue({ code: 'custom', path: ['DATABASE_URL'], message: 'must be set with DATABASE_DIRECT_URL' });
});

export type Config = Readonly<z.infer<typeof Environment>>;

export class ConfigError extends Error {}

/** Settings whose values an error must not repeat. */
const SECRET: ReadonlySet<string> = new Set(
  rules.words(
    'DATABASE_URL DATABASE_DIRECT_URL REDIS_URL MASTER_KEY ADMIN_TOKEN METRICS_TOKEN OIDC_CLIENT_SECRET SMTP_URL',
    'HTTPS_PROXY HTTP_PROXY OTEL_EXPORTER_OTLP_HEADERS IDENTITY_HEADER AWS_CONTAINER_AUTHORIZATION_TOKEN',
  ),
);

/** Settings that most programs read in lower case too. */
const LOWER_CASE = new Set(['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']);

/** An empty variable counts as unset, as in `PORT= npm start`. */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.keys(Settings.shape).flatMap((name) => {
    const text = env[name] || (LOWER_CASE.has(name) && env[name.toLowerCase()]);
    return text ? [[name, text]] : [];
  });
  const result = Environment.safeParse(Object.fromEntries(given));
  if (result.success) return Object.freeze(result.data);
  const lines = new Set(result.error.issues.map((issue) => describeIssue(issue, env)));
  throw new ConfigError(`Invalid environment; correct or unset:\n  ${[...lines].join('\n  ')}`);
}

function describeIssue({ path, message }: z.core.$ZodIssue, env: NodeJS.ProcessEnv): string {
  const name = path.join('.');
  return SECRET.has(name) || !env[name] ? `${name}: ${message}` : `${name}: ${message}, found "${env[name]}"`;
}

/** The settings that the environment contains, as given. An empty one is a setting that is unset on purpose. */
export const settingsIn = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    [...Object.keys(Settings.shape), ...[...LOWER_CASE].map((name) => name.toLowerCase())].flatMap((name) => {
      const text = env[name];
      return text === undefined ? [] : [[name, text]];
    }),
  );

/** For operators, in the order of docs/config.md. */
export const settingsReport = (config: Config): SettingReport[] =>
  environmentTable().map(({ name, about, fallback }) => {
    const value = config[name as keyof Config];
    const text = value === undefined ? null : String(value);
    const secret = SECRET.has(name);
    const source = (text ?? 'unset') === fallback ? 'default' : 'environment';
    return { name, value: text !== null && secret ? 'set' : text, source, about, secret };
  });

/** For docs/config.md. */
export const environmentTable = (): { name: string; about: string; fallback: string }[] =>
  Object.entries(Settings.shape).map(([name, schema]) => {
    const parsed = schema.safeParse(undefined);
    return {
      name,
      about: schema.description ?? '',
      fallback: parsed.success ? String(parsed.data ?? 'unset') : 'unset',
    };
  });
