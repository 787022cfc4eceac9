/** Fields of POST /v1/videos, the entry in the style of OpenAI (V 4.7). */
import { TASK_FIELDS, type VideoParameter } from './parameters.ts';

/** Fields that this entry has beside those of the task entry. */
const OWN_FIELDS = ['prompt', 'seconds', 'size', 'input_reference'] as const;

export const VIDEOS_FIELDS: ReadonlySet<string> = new Set([...TASK_FIELDS, ...OWN_FIELDS]);

/** At most one field of each pair may be given. `prompt` with a text item in `content` is the fourth pair. */
export const EXCLUSIVE_VIDEOS_FIELDS: readonly (readonly [(typeof OWN_FIELDS)[number], VideoParameter | 'content'])[] =
  [
    ['seconds', 'duration'],
    ['seconds', 'frames'],
    ['size', 'resolution'],
    ['size', 'ratio'],
    ['input_reference', 'content'],
  ];
