/** The only reader of the environment: names, defaults and documentation in one place (docs/config.md is printed from it). */
import { z } from 'zod';
import { parseMasterKeys } from './core/index.ts';
import { HEARTBEAT_MS, STALLED_CLIENT_MS } from './rules/index.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const milliseconds = z.coerce.number().int().min(0).max(86_400_000);

/** Scheme, host and port and nothing else, as the URL parser writes them. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const isOrigin = url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` && !text.includes('@');
  return isOrigin ? url.origin : undefined;
}

const Environment = z.strictObject({
  HOST: z.string().default('127.0.0.1').describe('address the public API listens on'),
  PORT: port.default(8080).describe('port the public API listens on; 0 picks a free one'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe('PostgreSQL 15 or later; unset means an embedded PostgreSQL under DATA_DIR'),
  DATA_DIR: z.string().min(1).default('./data').describe('embedded database and master key'),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
    .refine((text) => URL.canParse(text), 'must be an address such as redis://user:password@host:6379/0')
    .optional()
    .describe(
      'Redis 6 or later, or Valkey, where several servers count limits together; unset: each counts for itself',
    ),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('used in links that we return; default http://HOST:PORT'),
  MASTER_KEY: z
    .string()
    .refine((text) => parseMasterKeys(text), 'must be k1:SECRET or k2:NEW,k1:OLD, each secret at least 32 characters')
    .optional()
    .describe('seals credentials at rest; default: a file in DATA_DIR, made at the first start; k2:...,k1:... rotates'),
  ADMIN_TOKEN: z
    .string()
    .regex(/^(?!dg-)[\x21-\x7e]{20,256}$/, 'must be 20 to 256 visible ASCII characters that do not start with dg-')
    .optional()
    .describe('bearer of the admin API; default: made at the first start, kept sealed, printed once'),
  DEMO: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe('auto seeds the demo on an empty embedded database; off never; on always'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('least important log line'),
  DRAIN_MS: milliseconds.default(30_000).describe('time that open requests get at shutdown'),
  HEARTBEAT_MS: milliseconds.default(HEARTBEAT_MS).describe('silence on a stream after which a heartbeat is sent'),
  STALLED_CLIENT_MS: milliseconds
    .default(STALLED_CLIENT_MS)
    .describe('a client that takes nothing of its answer for so long is cut'),
  BODY_LIMIT_TEXT: z.coerce
    .number()
    .int()
    .min(1024)
    .optional()
    .describe('largest text request in bytes; default 32 MiB'),
  BODY_LIMIT_IMAGE: z.coerce
    .number()
    .int()
    .min(1024)
    .optional()
    .describe('largest image request in bytes; default 64 MiB'),
  STORED_RESPONSES_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(365)
    .default(30)
    .describe('how long responses are kept for callers who refer to them; 0 keeps none'),
  USAGE_RETENTION_MONTHS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1200)
    .default(13)
    .describe(
      'whole months for which single usage records are kept; daily sums and charges stay for ever; 0 keeps all',
    ),
  ALARM_CHECK_MS: milliseconds
    .min(100)
    .default(60_000)
    .describe('how often the worker checks the ledger and looks for what needs an operator'),
  AUTH_FAILURES_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .default(60)
    .describe('requests without a valid key that one address may send in a minute before it gets 429'),
  TRUST_PROXY: z
    .string()
    .default('')
    .describe('comma-separated addresses or networks of proxies whose X-Forwarded-For is believed'),
  EGRESS_ALLOW: z
    .string()
    .default('')
    .transform((text, context) => {
      const items = text.split(',').flatMap((item) => item.trim() || []);
      const wrong = items.filter((item) => originOf(item) === undefined);
      if (wrong.length > 0) context.addIssue(`must be origins such as http://127.0.0.1:9000, not ${wrong.join(', ')}`);
      return items.flatMap((item) => originOf(item) ?? []);
    })
    .describe('comma-separated extra origins allowed in addresses that callers give; for tests and private networks'),
});

export type Config = Readonly<z.infer<typeof Environment>>;

export class ConfigError extends Error {}

/** Empty strings count as unset: `PORT= npm start` is a slip, not a wish. */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.keys(Environment.shape).flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  const result = Environment.safeParse(Object.fromEntries(given));
  if (result.success) return Object.freeze(result.data);
  const lines = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`The environment is not usable.\n  ${lines.join('\n  ')}`);
}

/** For docs/config.md. */
export const environmentTable = (): { name: string; about: string; fallback: string }[] =>
  Object.entries(Environment.shape).map(([name, schema]) => {
    const parsed = schema.safeParse(undefined);
    return {
      name,
      about: schema.description ?? '',
      fallback: parsed.success ? String(parsed.data ?? 'unset') : 'unset',
    };
  });
