/**
 * Which folder may import which. A file imports from its own folder, or from a folder of strictly lower rank through its index.ts.
 * Inside a folder with floors, a file imports from its own room (subfolder or file), or from rooms on lower floors.
 */

export const RANKS: readonly (readonly string[])[] = [
  ['rules'],
  ['core', 'version'],
  ['http', 'objects', 'threads'],
  ['dialects', 'db', 'redis', 'upstream', 'web', 'cluster', 'config', 'data-dir'],
  ['identity', 'catalog', 'pool', 'ledger'],
  ['setup', 'requests', 'people', 'backup', 'warnings'],
  ['gateway', 'video'],
  ['api', 'admin', 'openapi', 'worker', 'master-key'],
  ['console'],
  ['server'],
  ['cli'],
];

/** Rooms of the large folders, the lowest floor first. */
export const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  dialects: [
    ['hub'],
    ['wire'],
    ['errors', 'opaque'],
    ['codec', 'tools'],
    ['chat', 'messages', 'responses', 'generate', 'images', 'convert'],
    ['converse'],
    ['client-field'],
    ['index'],
  ],
  http: [
    ['bounds', 'open-socket', 'deadlines', 'target'],
    ['headers', 'pinned-lookup', 'listening-sockets', 'health-listener'],
    ['health-thread'],
    ['framing', 'server', 'client', 'content-decoder'],
    ['request-checks', 'request-head', 'proxy-tunnel'],
    ['connection-pool'],
    ['wire', 'node', 'listener', 'exchange'],
    ['stack'],
    ['index'],
  ],
  ledger: [
    ['usage-record', 'crash-points'],
    ['wallets', 'pricing'],
    ['records'],
    ['admission', 'alarms'],
    ['metering', 'reports'],
    ['index'],
  ],
  video: [
    ['idempotency', 'upstream', 'request', 'service-groups', 'open-work'],
    ['characters', 'target'],
    ['references'],
    ['services'],
    ['assets'],
    ['tasks'],
    ['results', 'callbacks', 'sessions'],
    ['video', 'alarms'],
    ['index'],
  ],
  gateway: [
    [
      'attempt-budget',
      'caller',
      'affinity',
      'dropped',
      'read-on',
      'rejected-options',
      'request-scan',
      'stored',
      'upstream-request',
    ],
    ['client-error', 'failure-reason', 'plan', 'provider-message'],
    ['failover'],
    ['billing', 'models'],
    ['services', 'images', 'legs'],
    ['native', 'converted'],
    ['background', 'probe'],
    ['account-test'],
    ['websocket'],
    ['gateway'],
    ['index'],
  ],
};

export const rankOf = (folder: string): number => RANKS.findIndex((row) => row.includes(folder));

/** Undefined in folders without floors; -1 for a room that has none. */
export const floorOf = (folder: string, room: string): number | undefined =>
  FLOORS[folder]?.findIndex((row) => row.includes(room));

/** The picture in ARCHITECTURE.md. */
export const rankPicture = (): string =>
  RANKS.map((folders, rank) => `rank ${rank}   ${folders.join('   ')}`)
    .reverse()
    .join('\n');
