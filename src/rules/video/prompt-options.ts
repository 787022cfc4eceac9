/**
 * Options in the text of a prompt, such as `--rs 1080p`. They replace parameters, or lose against them: the provider
 * does not say, and hardly checks them.
 */
import { VIDEO_SHEETS } from './sheets.ts';

/** What an option can change of the cost. `nothing`: the picture has as many pixels and frames with it. */
export type PromptOptionEffect = 'resolution' | 'ratio' | 'duration' | 'frames' | 'nothing';

/**
 * By the name in lower case and without `_`. Any other name may be an option of a newer model. A model has one frame
 * rate, whatever `fps` says.
 */
export const PROMPT_OPTIONS: ReadonlyMap<string, PromptOptionEffect> = new Map(
  Object.entries({
    resolution: 'resolution',
    rs: 'resolution',
    ratio: 'ratio',
    rt: 'ratio',
    duration: 'duration',
    dur: 'duration',
    frames: 'frames',
    framespersecond: 'nothing',
    fps: 'nothing',
    seed: 'nothing',
    camerafixed: 'nothing',
    cf: 'nothing',
    watermark: 'nothing',
    wm: 'nothing',
  }),
);

/** Seconds of the longest video of any sheet. An option for more is ignored or rejected by the provider. */
export const LONGEST_PROMPTED_S = Math.max(
  ...Object.values(VIDEO_SHEETS).map(({ parameters }) => parameters.duration.max),
);
