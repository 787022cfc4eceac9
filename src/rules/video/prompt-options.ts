/**
 * Options that providers read in the text of a prompt, such as `--rs 1080p`: long and short names. They replace parameters of the body, or
 * lose against them; the provider does not say which, and hardly checks their values.
 */

/** What an option can change of the cost. `nothing`: the picture has as many pixels and frames with it. */
export type PromptOptionEffect = 'resolution' | 'ratio' | 'duration' | 'frames' | 'nothing';

/** By the name in lower case and without `_`. Any other name may be an option of a newer model. */
export const PROMPT_OPTIONS: ReadonlyMap<string, PromptOptionEffect> = new Map([
  ['resolution', 'resolution'],
  ['rs', 'resolution'],
  ['ratio', 'ratio'],
  ['rt', 'ratio'],
  ['duration', 'duration'],
  ['dur', 'duration'],
  ['frames', 'frames'],
  // Every model produces 24 frames a second, whatever this says.
  ['framespersecond', 'nothing'],
  ['fps', 'nothing'],
  ['seed', 'nothing'],
  ['camerafixed', 'nothing'],
  ['cf', 'nothing'],
  ['watermark', 'nothing'],
  ['wm', 'nothing'],
]);

/** Seconds of the longest video of any model of the provider. An option for more is ignored or rejected there. */
export const LONGEST_PROMPTED_S = 30;
