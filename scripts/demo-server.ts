/** The demo as a process of its own, in a temporary folder, with the keys that it prints. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../test/support/process.ts';

export const DEMO_GROUP_NAMES = ['responses', 'messages', 'generate'] as const;
type DemoGroupName = (typeof DEMO_GROUP_NAMES)[number];

export interface DemoServer {
  readonly url: string;
  readonly keys: Readonly<Record<DemoGroupName, string>>;
  stop(): Promise<void>;
}

/** The first start creates a database; on a busy machine that takes longer than tests wait. */
const START_TIMEOUT_MS = 120_000;

export async function startDemoServer(): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-demo-'));
  // Programs that prove errors use wrong keys many times, all from one address.
  const env = {
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
    LOG_LEVEL: 'error',
    AUTH_FAILURES_PER_MINUTE: '100000',
    // The download of the AI SDK sends no key.
    RESULT_LINK_SECONDS: '600',
  };
  const server = launch(['serve'], env);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [, url = ''] = await server.until(/^Dragoman is ready at (\S+)$/m, START_TIMEOUT_MS);
    const keyOf = (group: DemoGroupName): string =>
      new RegExp(`^ +${group} +(dg-\\w+)$`, 'm').exec(server.output())?.[1] ?? '';
    return {
      url,
      keys: { responses: keyOf('responses'), messages: keyOf('messages'), generate: keyOf('generate') },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
