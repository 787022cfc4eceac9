/** The table of targets, and the lines that each of them has in the report. */
import { type CommandPeer, startCommand, startNode } from './command.ts';
import { type GatewayOptions, startGateway } from './gateway.ts';
import { startNginx } from './nginx.ts';
import { LITELLM, PORTKEY, startLitellm, startPortkey } from './peers.ts';
import { CONVERTED, NATIVE, type Route } from './scenarios.ts';
import type { Target } from './target.ts';

/** One row of the tables of the report. */
export interface Line {
  readonly target: string;
  readonly kind: TargetRow['kind'];
  readonly route: Route;
  readonly label: string;
}

export interface TargetRow {
  readonly name: string;
  readonly kind: 'direct' | 'gateway' | 'peer';
  readonly lines: readonly Line[];
  start(upstreamPort: number): Promise<Target>;
}

export interface TargetOptions {
  readonly profileFolder: string | undefined;
  readonly peers: readonly CommandPeer[];
}

/**
 * `converter` is a second process for converted calls, so that they do not affect the process that is compared
 * natively.
 */
export const targetsOf = ({ profileFolder, peers }: TargetOptions): readonly TargetRow[] => [
  row('direct', 'direct', 'direct to the upstream', async (port) => directTarget(port)),
  row('nginx', 'peer', 'nginx proxy_pass', startNginx),
  row('node', 'peer', "Node's plain proxy", (port) => startNode('node-proxy.ts', port)),
  gateway('dragoman', [NATIVE], { profileFolder }),
  // On all cores, which the load shares: on one core of its own, a second worker could only cost.
  gateway('one-worker', [NATIVE], { isPinned: false }),
  gateway('two-workers', [NATIVE], { isPinned: false, env: { WORKERS: '2' } }),
  row('portkey', 'peer', `Portkey ${PORTKEY} native`, startPortkey),
  row('litellm', 'peer', `LiteLLM ${LITELLM} native`, startLitellm),
  ...peers.map((peer) =>
    row(peer.name, 'peer', peer.name, (port) => startCommand(peer, port), { from: peer.dialect, to: peer.dialect }),
  ),
  gateway('converter', CONVERTED, { profileFolder }),
];

/**
 * One gateway for native and converted calls, as operators run it. The conversion has the upstream of the native calls.
 */
export const quickTargets = (): readonly TargetRow[] => [
  ...targetsOf({ profileFolder: undefined, peers: [] }).filter(({ name }) =>
    ['direct', 'nginx', 'node'].includes(name),
  ),
  // A busy machine delays the event loop, and a shed call costs less than a served one.
  gateway('dragoman', [NATIVE, { from: 'chat', to: 'messages' }], { env: { SHEDDING: 'off' } }),
];

/** The peers, and a gateway of each source tree. */
export const contestTargets = (trees: Readonly<Record<string, string>>): readonly TargetRow[] => [
  ...targetsOf({ profileFolder: undefined, peers: [] }).filter(({ name }) => ['nginx', 'node'].includes(name)),
  ...Object.entries(trees).map(([name, tree]) => gateway(name, [NATIVE], { tree, env: { SHEDDING: 'off' } })),
];

function row(
  name: string,
  kind: TargetRow['kind'],
  label: string,
  start: TargetRow['start'],
  route: Route = NATIVE,
): TargetRow {
  return { name, kind, lines: [{ target: name, kind, route, label }], start };
}

function gateway(name: string, routes: readonly Route[], options: Omit<GatewayOptions, 'name'>): TargetRow {
  const lines = routes.map((route): Line => {
    const label = route.from === route.to ? `${name} native` : `${name} ${route.from} -> ${route.to}`;
    return { target: name, kind: 'gateway', route, label };
  });
  return { name, kind: 'gateway', lines, start: (port) => startGateway({ name, ...options }, port) };
}

const directTarget = (port: number): Target => ({
  port,
  pid: undefined,
  headers: () => ({ 'x-api-key': 'unused' }),
  stop: async () => {},
});
