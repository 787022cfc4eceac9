/** The families of video accounts, by the word in their configuration. */
import type { Account } from '../../catalog/index.ts';
import type { VideoAdapter } from '../../rules/index.ts';
import { nonEmptyText, objectOf } from './exchange.ts';
import { ark } from './families/ark.ts';
import { dragoman } from './families/dragoman.ts';
import type { VideoFamily } from './families/family.ts';
import { minimax } from './families/minimax.ts';
import { veo } from './families/veo.ts';

export { ownResultUrls } from './families/dragoman.ts';
export type AdapterTraits = VideoFamily;

export const ADAPTERS: Readonly<Record<VideoAdapter, VideoFamily>> = { ark, dragoman, veo, minimax };

export const traitsOf = ({ adapter }: Pick<Account, 'adapter'>): VideoFamily => ADAPTERS[adapter];

/** Whether the upstream may have created the task, although it responded with this error. */
export function isAmbiguous(family: VideoFamily, status: number, code: string): boolean {
  if (status >= 500) return family.definitiveCodes?.test(code) !== true;
  return status < 400 || family.ambiguousStatuses.has(status) || family.ambiguousCodes?.test(code) === true;
}

/** The task id in a report on our secret path. A Dragoman has it in the `data` of its callback (V 6 r3). */
export function reportedIdIn(report: unknown): string | undefined {
  const body = objectOf(report);
  return nonEmptyText(body?.id) ?? nonEmptyText(objectOf(body?.data)?.id);
}
