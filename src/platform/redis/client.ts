/**
 * Client of a Redis or Valkey server or cluster. The only module that knows the client library; loads it on first use.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../core/index.ts';

/** A Lua script and its SHA-1, by which the server caches it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/** All keys of one `run` must share a hash tag, so that a cluster runs the script on one node. */
export interface RedisClient {
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Waits for pending commands. */
  close(): Promise<void>;
  /** Closes immediately. */
  destroy(): void;
}

type Send = (key: string, args: string[]) => Promise<unknown>;

export interface RedisClientOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Time limit to open the connection. */
  readonly timeoutMs: number;
  readonly onError?: (error: Error) => void;
}

/** Opens a client. The library must not reconnect by itself: requests would wait meanwhile. */
export async function openRedisClient(options: RedisClientOptions): Promise<RedisClient> {
  const { promise, reject } = Promise.withResolvers<never>();
  let client: Closable | undefined;
  let isLate = false;
  const cancel = options.clock.after(options.timeoutMs, () => {
    isLate = true;
    if (client) destroy(client);
    reject(new Error(`no connection within ${options.timeoutMs} ms`));
  });
  const opening = open(options, (opened) => {
    // The caller has timed out and would never close this client.
    if (isLate) throw new Error('connect timeout');
    client = opened;
  });
  return Promise.race([opening, promise])
    .catch((error: unknown) => {
      if (client) destroy(client);
      throw error;
    })
    .finally(cancel);
}

async function open(
  { url, timeoutMs, onError = () => {} }: RedisClientOptions,
  begin: (client: Closable) => void,
): Promise<RedisClient> {
  const { createClient, createCluster } = await import('@redis/client');
  const socket = { connectTimeout: timeoutMs, reconnectStrategy: false as const };
  const client = createClient({ url, disableOfflineQueue: true, socket });
  begin(client);
  client.on('error', onError);
  await client.connect();
  const isCluster = String(await client.sendCommand(['INFO', 'cluster'])).includes('cluster_enabled:1');
  if (!isCluster) return probe(clientOver((_key, args) => client.sendCommand(args), client));
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
  cluster.on('error', onError);
  cluster.on('node-error', onError);
  await cluster.connect();
  return probe(clientOver((key, args) => cluster.sendCommand(key, false, args), cluster));
}

interface Closable {
  close(): Promise<void>;
  destroy(): void;
}

const clientOver = (send: Send, client: Closable): RedisClient => ({
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

/** Ignores the error of a client that was never open or is already closed. */
function destroy(client: Closable): void {
  try {
    client.destroy();
  } catch {}
}

const TIME = script("return redis.call('TIME')");

/** Runs a script, because a server that responds may still forbid scripts, be loading its data, or be out of memory. */
async function probe(client: RedisClient): Promise<RedisClient> {
  await client.run(TIME, ['dragoman:{probe}'], []);
  return client;
}
