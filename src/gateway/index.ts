export type { AttemptParts } from './attempt.ts';
export type { Caller } from './caller.ts';
export { type ConverseParts, converse } from './converse.ts';
export { forward } from './forward.ts';
export { type ListedModel, ModelLists } from './models.ts';
export { Outlets } from './outlet.ts';
export { ResponseOwners } from './owners.ts';
