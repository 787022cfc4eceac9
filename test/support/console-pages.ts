/** The addresses of every page of the console, of a scene. */
import { FAILING_ACCOUNT, type Scene } from './console-scene.ts';

export type Reader = 'operator' | 'user';

export interface ConsolePage {
  readonly name: string;
  /** Without the base path. */
  readonly path: string;
  readonly reader: Reader;
}

const OPERATOR_LISTS = [
  ...[
    'overview',
    'first-steps',
    'requests',
    'tasks',
    'callbacks',
    'groups',
    'accounts',
    'models',
    'characters',
    'users',
  ],
  ...['keys', 'assets', 'objects', 'ledger', 'review', 'warnings', 'audit', 'people', 'settings'],
];
const USER_LISTS = [
  'keys',
  'models',
  'usage',
  'statement',
  'requests',
  'tasks',
  'assets',
  'objects',
  'warnings',
  'playground',
];

/** `user` is whose keys, calls and tasks the reader of the user's pages has. */
export function consolePages(scene: Scene, ownKey: string): ConsolePage[] {
  const operator = (name: string, path: string): ConsolePage => ({ name, path: `/${path}`, reader: 'operator' });
  const user = (name: string, path: string): ConsolePage => ({
    name: `my-${name}`,
    path: `/my/${path}`,
    reader: 'user',
  });
  return [
    ...OPERATOR_LISTS.map((path) => operator(path, path)),
    operator('request', `requests/${scene.request}`),
    operator('request-refused', `requests/${scene.refused}`),
    operator('request-rejected', `requests/${scene.rejected}`),
    operator('task', `tasks/${scene.task}`),
    operator('task-failed', `tasks/${scene.failedTask}`),
    operator('callback', `callbacks/${scene.callback}`),
    operator('account', `accounts/${FAILING_ACCOUNT}`),
    operator('model', 'models/messages/demo-messages'),
    operator('user', 'users/ana'),
    operator('key', `keys/${scene.key}`),
    ...USER_LISTS.map((path) => user(path, path)),
    user('key', `keys/${ownKey}`),
    user('request', `requests/${scene.request}`),
    user('task', `tasks/${scene.task}`),
    user('asset-groups', 'assets?tab=groups'),
    user('playground-image', 'playground?form=image'),
    user('playground-video', 'playground?form=video'),
    user('playground-embeddings', 'playground?form=embeddings'),
  ];
}
