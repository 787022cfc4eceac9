/** Starts a simulated server in the current process. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { Clouds } from './clouds/index.ts';
import type { State } from './exchange.ts';
import { type Fault, parseFault } from './faults.ts';
import { Ids } from './ids.ts';
import { PictureCache } from './images/cache.ts';
import { Journal } from './journal.ts';
import { ResponseStore } from './responses/store.ts';
import { createSimServer } from './server.ts';
import { PrefixCache } from './usage.ts';
import type { VideoOptions } from './video/settings.ts';
import { VideoSim } from './video/video-sim.ts';
import { acceptSockets } from './websocket.ts';

export { AZURE, BEDROCK, type Clouds, GUARDRAIL, serviceAccountKey, VERTEX } from './clouds/index.ts';
export { type Damage, FAULT_CASES, type FaultCase, type FaultMode } from './fault-cases.ts';
export type { Fault, FaultKind } from './faults.ts';
export type { PictureCache } from './images/cache.ts';
export type { Journal, JournalEntry } from './journal.ts';
export type { VideoEntry } from './video/journal.ts';
export type { VideoOptions, VideoSettings } from './video/settings.ts';
export type { VideoSim } from './video/video-sim.ts';

export interface SimOptions {
  port?: number;
  host?: string;
  /** Part of every id, so that the ids of two servers differ. */
  name?: string;
  /** False: rejects WebSocket upgrades (default true). */
  websocket?: boolean;
  /** False: draws only PNG, as where sharp is not installed (default true). */
  encoder?: boolean;
  /**
   * The seed of an impolite provider: every response has some harmless manners (`manners/`). By default that of the
   * environment, `SIM_SEED`; false for a polite provider.
   */
  seed?: string | false;
  /** False: a healthy provider, which ignores the fault words of requests (default true). */
  faults?: boolean;
  /** The video provider: timing, clock, accounts, models, limits. */
  video?: VideoOptions;
}

export interface Sim {
  /** `http://127.0.0.1:4010`, without a path. */
  url: string;
  port: number;
  journal: Journal;
  /** The drawn pictures. */
  pictures: PictureCache;
  /** Clouds that host models: their credentials and token services. */
  clouds: Clouds;
  /** Sets the fault of the next request; several calls form a queue. */
  next(fault: Fault | string): void;
  /** The video provider on the same port, with its own journal and clock. */
  video: VideoSim;
  /** Open connections, WebSockets included. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** Starts one server for all simulated providers. */
export async function startSim(options: SimOptions = {}): Promise<Sim> {
  const host = options.host ?? '127.0.0.1';
  const state: State = {
    ids: new Ids(options.name ?? 'sim'),
    journal: new Journal(),
    cache: new PrefixCache(),
    responses: new ResponseStore(),
    pictures: new PictureCache(options.encoder !== false),
    clouds: new Clouds(),
    queue: [],
    url: '',
    closing: false,
    seed: options.seed === false ? undefined : (options.seed ?? process.env.SIM_SEED),
    hasFaults: options.faults !== false,
    sockets: new Set(),
  };
  const video = new VideoSim(options.video);
  const server = createSimServer(state, video);
  if (options.websocket !== false) acceptSockets(server, state);
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  state.url = url;
  video.origin = url;
  return {
    url,
    port,
    journal: state.journal,
    pictures: state.pictures,
    clouds: state.clouds,
    video,
    next: (fault) => void state.queue.push(typeof fault === 'string' ? parseFault(fault) : fault),
    connections: () => promisify(server.getConnections.bind(server))(),
    close: async () => {
      if (state.closing) return;
      state.closing = true;
      video.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      // close() waits for upgraded connections but does not end them.
      for (const socket of state.sockets) socket.terminate();
      await closed;
    },
  };
}
