/**
 * Which part of src/ may import which. Where the paths of two files part, the file imports from a strictly lower row
 * only: rooms of src/, modules of a room, floors of a module. Into another room or module it comes through index.ts.
 */

/** The rooms of src/, the lowest rank first. */
export const RANKS: readonly (readonly string[])[] = [
  ['rules'],
  ['core'],
  ['schemas', 'dialects'],
  ['platform'],
  ['providers', 'ledger'],
  ['access'],
  ['catalog'],
  ['observe'],
  ['gateway', 'video'],
  ['api'],
  ['program'],
];

/** Rooms that consist of modules with an index.ts each, or of one file. */
const MODULES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  platform: [
    ['http', 'threads', 'version'],
    ['db', 'redis', 'outbound', 'web', 'cluster', 'config', 'data-dir'],
    ['master-key'],
  ],
  providers: [['upstream'], ['pool']],
  access: [['keys'], ['people']],
  catalog: [['catalog'], ['line-lessons'], ['load', 'redact'], ['index'], ['setup']],
  observe: [['request-log', 'warnings']],
  api: [['caller', 'admin'], ['console']],
  program: [['backup', 'import', 'jobs'], ['server'], ['cli']],
};

/** Subfolders and files of the large modules, the lowest floor first. */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  dialects: [
    ['hub'],
    ['wire'],
    ['errors', 'opaque'],
    ['codec', 'tools'],
    ['claude', 'encoding'],
    ['chat', 'messages', 'responses', 'generate', 'images', 'convert'],
    ['converse'],
    ['client-field'],
    ['index'],
  ],
  'platform/http': [
    ['bounds', 'open-socket', 'deadlines', 'target'],
    ['headers', 'pinned-lookup', 'listening-sockets', 'health-listener'],
    ['health-thread'],
    ['framing', 'server', 'client', 'content-decoder'],
    ['request-checks', 'request-head', 'whole-response'],
    ['wire', 'exchange'],
    ['connection-pool', 'listener'],
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
    ['request'],
    ['idempotency', 'upstream', 'service-groups', 'open-work', 'input-files'],
    ['characters', 'target'],
    ['references'],
    ['services'],
    ['assets'],
    ['tasks'],
    ['results', 'callbacks', 'sessions', 'erase-video'],
    ['video', 'alarms'],
    ['index'],
  ],
  gateway: [
    ['caller', 'affinity', 'dropped', 'read-on', 'rejected-options', 'request-scan', 'stored', 'upstream-request'],
    ['client-error', 'failure-reason', 'models', 'own-members'],
    ['plan', 'next-step'],
    ['try-ways', 'key-groups'],
    ['upstream-call'],
    ['attempt'],
    ['attempts'],
    ['billing'],
    ['services', 'images'],
    ['conversations'],
    ['files'],
    ['objects'],
    ['native', 'converted'],
    ['background', 'probe', 'read-request'],
    ['choose-group', 'serve-call'],
    ['batches'],
    ['websocket', 'kept-objects'],
    ['explain'],
    ['gateway'],
    ['index'],
  ],
};

const ORDERS: Readonly<Record<string, readonly (readonly string[])[]>> = { '': RANKS, ...MODULES, ...FLOORS };

/**
 * The row of a part inside a folder of src/, `''` for src/ itself. Undefined where the folder has no order; -1 for a
 * part that has no row.
 */
export const rowOf = (folder: string, part: string): number | undefined =>
  ORDERS[folder]?.findIndex((row) => row.includes(part));

export const hasModules = (folder: string): boolean => folder in MODULES;

/** The picture in ARCHITECTURE.md. */
export const rankPicture = (): string =>
  RANKS.map((rooms, rank) => `rank ${rank}   ${rooms.map(describeRoom).join('   ')}`)
    .reverse()
    .join('\n');

const describeRoom = (room: string): string => {
  const modules = (MODULES[room] ?? []).flat().filter((name) => name !== room && name !== 'index');
  return modules.length > 0 ? `${room} (${modules.join(', ')})` : room;
};
