/**
 * The provider groups and the dialects they speak (G 1), as words and nothing else.
 * "Style" is what a group speaks to its upstream; "dialect" is one wire language; a group can speak two (responses and chat).
 */

/** What a key's group speaks. `video` groups are reached beside the key's own group, never instead of it. */
export const STYLES = ['responses', 'messages', 'generate-content'] as const;
export type Style = (typeof STYLES)[number];

export const VIDEO_VARIANTS = ['A', 'EP', 'HC'] as const;
export type VideoVariant = (typeof VIDEO_VARIANTS)[number];

export const DIALECTS = ['messages', 'chat', 'responses', 'generate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What an upstream account of each style can have; an account lists fewer when it lacks some. */
export const FEATURES = {
  responses: ['responses', 'chat', 'websocket', 'images', 'embeddings'],
  messages: ['messages', 'count'],
  'generate-content': ['generate', 'count'],
  video: ['video'],
} as const satisfies Record<Style | 'video', readonly string[]>;
export type Feature = (typeof FEATURES)[Style | 'video'][number];
