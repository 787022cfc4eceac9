/** Chapters of the reference. */

interface Chapter {
  readonly name: string;
  readonly about: string;
  /** The beginnings of operation names. */
  readonly operations: readonly string[];
}

const GROUPS: Readonly<Record<string, readonly Chapter[]>> = {
  'Text, images, models': [
    { name: 'Messages', about: 'The messages dialect, on every group', operations: ['messages.'] },
    { name: 'Chat completions', about: 'The chat-completions dialect, on every group', operations: ['chat.'] },
    {
      name: 'Responses',
      about: 'The responses dialect, on every group; stored, background and WebSocket responses',
      operations: ['responses.'],
    },
    { name: 'Generate content', about: 'The native generate-content dialect', operations: ['generate.'] },
    { name: 'Embeddings', about: 'Vectors of texts', operations: ['embeddings.'] },
    { name: 'Images', about: 'Making and editing images', operations: ['images.'] },
    {
      name: 'Models and usage',
      about: 'What a key may use, and what its user has used',
      operations: ['models.', 'usage.', 'billing.'],
    },
  ],
  Video: [
    { name: 'Video tasks', about: 'The recommended entry to video', operations: ['tasks.'] },
    { name: 'Videos', about: 'The compatibility entry, and results', operations: ['videos.', 'links.', 'results.'] },
    { name: 'Callbacks', about: 'Deliveries of the state of tasks', operations: ['callbacks.'] },
    { name: 'Assets', about: 'Private assets and their groups', operations: ['assets.', 'assetGroups.'] },
    { name: 'Real persons', about: 'Authorizations of real persons', operations: ['sessions.'] },
    { name: 'Public characters', about: 'The catalog of characters', operations: ['characters.'] },
  ],
  Operators: [
    { name: 'Admin', about: 'The API of operators; it takes the admin token, not an API key', operations: ['admin.'] },
    {
      name: 'Health',
      about: 'Load balancers, metrics, this document, and reports of providers',
      operations: ['operator.', 'provider.'],
    },
  ],
  Console: [
    {
      name: 'Console',
      about: 'The API of the console, by cookie; it changes with the console',
      operations: ['console.'],
    },
  ],
};

const CHAPTERS = Object.values(GROUPS).flat();

export const TAGS = CHAPTERS.map(({ name, about }) => ({ name, description: about }));
/** A widely used extension: groups of tags in the navigation. */
export const TAG_GROUPS = Object.entries(GROUPS).map(([name, chapters]) => ({
  name,
  tags: chapters.map((one) => one.name),
}));

export const tagOf = (operation: string): string =>
  CHAPTERS.find(({ operations }) => operations.some((start) => operation.startsWith(start)))?.name ?? 'Health';
