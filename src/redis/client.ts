/** A connection to one Redis or Valkey, or to a cluster of them; the only file that knows the client library, and loads it when asked. */
import { createHash } from 'node:crypto';
import type { Clock } from '../core/index.ts';

/** A script and the name by which the server remembers it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/** All keys of one call carry the same hash tag, so that a cluster runs it in one place. */
export interface RedisClient {
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Waits for what is under way. */
  close(): Promise<void>;
  /** Does not. */
  destroy(): void;
}

type Send = (key: string, args: string[]) => Promise<unknown>;

export interface RedisClientOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Longer than this nobody waits for it to open. */
  readonly ms: number;
  readonly onLost?: (error: Error) => void;
}

/** Reconnecting is not the library's business: while it tries, calls would wait. */
export async function openRedisClient(options: RedisClientOptions): Promise<RedisClient> {
  const { promise, reject } = Promise.withResolvers<never>();
  let client: Closable | undefined;
  let isLate = false;
  const cancel = options.clock.after(options.ms, () => {
    isLate = true;
    if (client) destroy(client);
    reject(new Error(`no connection within ${options.ms} ms`));
  });
  const opening = open(options, (begun) => {
    // Nobody waits for it any more, and nobody would close it.
    if (isLate) throw new Error('too late');
    client = begun;
  });
  return Promise.race([opening, promise])
    .catch((error: unknown) => {
      if (client) destroy(client);
      throw error;
    })
    .finally(cancel);
}

async function open(
  { url, ms, onLost = () => {} }: RedisClientOptions,
  begin: (client: Closable) => void,
): Promise<RedisClient> {
  const { createClient, createCluster } = await import('@redis/client');
  const socket = { connectTimeout: ms, reconnectStrategy: false as const };
  const client = createClient({ url, disableOfflineQueue: true, socket });
  begin(client);
  client.on('error', onLost);
  await client.connect();
  const isCluster = String(await client.sendCommand(['INFO', 'cluster'])).includes('cluster_enabled:1');
  if (!isCluster) return tried(linkOver((_key, args) => client.sendCommand(args), client));
  destroy(client);
  const { username, password, protocol } = new URL(url);
  const cluster = createCluster({
    rootNodes: [{ url, socket }],
    defaults: {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      disableOfflineQueue: true,
      socket: { ...socket, ...(protocol === 'rediss:' && { tls: true as const }) },
    },
  });
  begin(cluster);
  cluster.on('error', onLost);
  cluster.on('node-error', onLost);
  await cluster.connect();
  return tried(linkOver((key, args) => cluster.sendCommand(key, false, args), cluster));
}

interface Closable {
  close(): Promise<void>;
  destroy(): void;
}

const linkOver = (send: Send, client: Closable): RedisClient => ({
  run: ({ text, sha }, keys, args) => {
    const rest = [String(keys.length), ...keys, ...args];
    return send(keys[0] ?? '', ['EVALSHA', sha, ...rest]).catch((error: unknown) => {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send(keys[0] ?? '', ['EVAL', text, ...rest]);
    });
  },
  close: () => client.close(),
  destroy: () => destroy(client),
});

/** Closing what was never open, or has closed already, is no mistake here. */
function destroy(client: Closable): void {
  try {
    client.destroy();
  } catch {}
}

const TIME = script("return redis.call('TIME')");

/** A server that answers but may not run scripts, is loading, or has no memory left, is of no use. */
async function tried(link: RedisClient): Promise<RedisClient> {
  await link.run(TIME, ['dragoman:{probe}'], []);
  return link;
}
