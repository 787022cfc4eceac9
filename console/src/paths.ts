/** Addresses of all pages, without the base path. The router and every link use them. */
import { t } from './language.ts';

const segment = encodeURIComponent;

export const paths = {
  home: '/',
  signIn: '/sign-in',
  link: '/link',
  overview: '/overview',
  setup: '/first-steps',
  requests: '/requests',
  request: (id: string) => `/requests/${segment(id)}`,
  tasks: '/tasks',
  task: (id: string) => `/tasks/${segment(id)}`,
  callbacks: '/callbacks',
  callback: (id: string) => `/callbacks/${segment(id)}`,
  groups: '/groups',
  accounts: '/accounts',
  account: (id: string) => `/accounts/${segment(id)}`,
  models: '/models',
  model: (group: string, id: string) => `/models/${segment(group)}/${segment(id)}`,
  characters: '/characters',
  users: '/users',
  user: (id: string) => `/users/${segment(id)}`,
  keys: '/keys',
  key: (id: string) => `/keys/${segment(id)}`,
  assets: '/assets',
  objects: '/objects',
  ledger: '/ledger',
  review: '/review',
  audit: '/audit',
  warnings: '/warnings',
  people: '/people',
  settings: '/settings',
  myKeys: '/my/keys',
  myKey: (id: string) => `/my/keys/${segment(id)}`,
  myModels: '/my/models',
  myUsage: '/my/usage',
  myStatement: '/my/statement',
  myRequests: '/my/requests',
  myRequest: (id: string) => `/my/requests/${segment(id)}`,
  myTasks: '/my/tasks',
  myTask: (id: string) => `/my/tasks/${segment(id)}`,
  myAssets: '/my/assets',
  myObjects: '/my/objects',
  myWarnings: '/my/warnings',
  playground: '/my/playground',
} as const;

export interface NavEntry {
  readonly title: string;
  readonly path: string;
}

export interface NavSection {
  readonly title: string | undefined;
  readonly entries: readonly NavEntry[];
}

const entry = (title: string, path: string): NavEntry => ({ title: t(title), path });

export const OPERATOR_NAV: readonly NavSection[] = [
  { title: undefined, entries: [entry('Overview', paths.overview)] },
  {
    title: t('Traffic'),
    entries: [
      entry('Requests', paths.requests),
      entry('Video tasks', paths.tasks),
      entry('Callbacks', paths.callbacks),
    ],
  },
  {
    title: t('Supply'),
    entries: [
      entry('Groups', paths.groups),
      entry('Accounts', paths.accounts),
      entry('Models', paths.models),
      entry('Characters', paths.characters),
    ],
  },
  {
    title: t('Customers'),
    entries: [
      entry('Users', paths.users),
      entry('Keys', paths.keys),
      entry('Assets', paths.assets),
      entry('Files', paths.objects),
    ],
  },
  { title: t('Money'), entries: [entry('Ledger', paths.ledger), entry('Review', paths.review)] },
  {
    title: t('System'),
    entries: [
      entry('Warnings', paths.warnings),
      entry('Audit', paths.audit),
      entry('People', paths.people),
      entry('Settings', paths.settings),
    ],
  },
];

export const USER_NAV: readonly NavSection[] = [
  {
    title: undefined,
    entries: [
      entry('Keys', paths.myKeys),
      entry('Models', paths.myModels),
      entry('Usage', paths.myUsage),
      entry('Statement', paths.myStatement),
      entry('Requests', paths.myRequests),
      entry('Tasks', paths.myTasks),
      entry('Assets', paths.myAssets),
      entry('Files', paths.myObjects),
      entry('Warnings', paths.myWarnings),
      entry('Playground', paths.playground),
    ],
  },
];
