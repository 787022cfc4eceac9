/** Chapters of the reference. */

interface Chapter {
  readonly name: string;
  readonly about: string;
  /** The beginnings of operation names; the longest that fits decides. */
  readonly operations: readonly string[];
}

const chapter = (name: string, about: string, ...operations: readonly string[]): Chapter => ({
  name,
  about,
  operations,
});

const GROUPS: Readonly<Record<string, readonly Chapter[]>> = {
  'Text, images, models': [
    chapter('Messages', 'The messages dialect, on every group', 'messages.'),
    chapter('Chat completions', 'The chat-completions dialect, on every group', 'chat.'),
    chapter(
      'Responses',
      'The responses dialect, on every group; stored, background and WebSocket responses',
      'responses.',
    ),
    chapter('Generate content', 'The native generate-content dialect', 'generate.'),
    chapter('Embeddings', 'Vectors of texts', 'embeddings.'),
    chapter('Images', 'Making and editing images', 'images.'),
    chapter('Models and usage', 'What a key may use, and what its user has used', 'models.', 'usage.'),
  ],
  Video: [
    chapter('Video tasks', 'The recommended entry to video', 'tasks.'),
    chapter('Videos', 'The compatibility entry, and results', 'videos.'),
    chapter('Assets', 'Private assets and their groups', 'assets.', 'assetGroups.'),
    chapter('Real persons', 'Authorizations of real persons', 'sessions.'),
    chapter('Public characters', 'The catalog of characters', 'characters.'),
  ],
  Operators: [
    chapter('Admin', 'The API of operators; it takes the admin token, not an API key', 'admin.'),
    chapter('Health', 'Load balancers, metrics, this document, and reports of providers', 'operator.', 'provider.'),
  ],
  Console: [chapter('Console', 'The API of the console, by cookie; it changes with the console', 'console.')],
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
