/** Addresses of all pages, without the base path. The router and every link use them. */
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
  ledger: '/ledger',
  review: '/review',
  audit: '/audit',
  people: '/people',
  settings: '/settings',
  myKeys: '/my/keys',
  myKey: (id: string) => `/my/keys/${segment(id)}`,
  myUsage: '/my/usage',
  myStatement: '/my/statement',
  myRequests: '/my/requests',
  myRequest: (id: string) => `/my/requests/${segment(id)}`,
  myTasks: '/my/tasks',
  myTask: (id: string) => `/my/tasks/${segment(id)}`,
  myAssets: '/my/assets',
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

const entry = (title: string, path: string): NavEntry => ({ title, path });

export const OPERATOR_NAV: readonly NavSection[] = [
  { title: undefined, entries: [entry('Overview', paths.overview)] },
  {
    title: 'Traffic',
    entries: [
      entry('Requests', paths.requests),
      entry('Video tasks', paths.tasks),
      entry('Callbacks', paths.callbacks),
    ],
  },
  {
    title: 'Supply',
    entries: [
      entry('Groups', paths.groups),
      entry('Accounts', paths.accounts),
      entry('Models', paths.models),
      entry('Characters', paths.characters),
    ],
  },
  {
    title: 'Customers',
    entries: [entry('Users', paths.users), entry('Keys', paths.keys), entry('Assets', paths.assets)],
  },
  { title: 'Money', entries: [entry('Ledger', paths.ledger), entry('Review', paths.review)] },
  {
    title: 'System',
    entries: [entry('Audit', paths.audit), entry('People', paths.people), entry('Settings', paths.settings)],
  },
];

export const USER_NAV: readonly NavSection[] = [
  {
    title: undefined,
    entries: [
      entry('Keys', paths.myKeys),
      entry('Usage', paths.myUsage),
      entry('Statement', paths.myStatement),
      entry('Requests', paths.myRequests),
      entry('Tasks', paths.myTasks),
      entry('Assets', paths.myAssets),
      entry('Playground', paths.playground),
    ],
  },
];
