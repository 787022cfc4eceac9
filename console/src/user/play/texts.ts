/** Sentences of the playground. They are not among those of the console, because they load with its page. */
import { countText } from '../../format/count.ts';
import { chinese } from '../../language.ts';
import type { Widened } from '../../texts.ts';

const english = {
  lead: 'Calls run with the chosen key: its limits hold and its wallet pays.',
  sample: 'Say hello in three languages, one line each.',
  sampleImage: 'A brass desk lamp on a walnut table, morning light',
  sampleVideo: 'A lamp lights up at dusk, the camera moves in slowly',
  sampleText: 'A brass desk lamp on a walnut table',
  stopped: 'Stopped.',
  empty: 'The conversation appears here.',
  videoHold:
    'The maximum cost is held until the task ends; what is not used is then released. The page of the task shows the result.',
  atMost: 'Held at the start, at most:',
  arithmetic: (tokens: string, price: string, factor: string) =>
    `${tokens} tokens × $${price} per million${factor === '' ? '' : ` × ${factor}`}`,
  noModel: (kind: string) => `This key can call no model for ${kind}. Choose another key.`,
  dimensions: (count: number) => `A vector of ${countText(count)} numbers.`,
  noVector: 'The vector appears here.',
  price: 'Price:',
  charged: 'charged',
  drawing: 'Drawing…',
  noImage: 'The image appears here.',
  hint: 'Press ⌘↵ or Ctrl+Enter to run.',
  mostPixels: (most: string) => `At most ${most} pixels.`,
  pixels: (count: string, most: string) => `${count} of at most ${most} pixels.`,
  firstEvent: (time: string) => `first event ${time}`,
  total: (time: string) => `total ${time}`,
  converted: (from: string) => `converted ${from}`,
  dropped: (members: string) => `dropped ${members}`,
  stop: (reason: string) => `The model stopped: ${reason}.`,
  answerCalls: 'Give the results of the calls to go on.',
  result: (name: string) => `Result of ${name}`,
  sampleTool: 'The weather in a city now',
  toolHint: 'A function as JSON: name, description, and parameters as a JSON schema.',
  toolFault: (reason: string) => `No valid function: ${reason}`,
  toolName: 'name is missing',
  attachHint: (size: string) => `Pictures, PDF and text files; together at most ${size}.`,
  tooLarge: (name: string, size: string) => `${name} is not attached: files have at most ${size} together.`,
  tooMany: (count: number) => `At most ${count} files can be attached.`,
  badFile: (name: string) => `${name} is not attached: only pictures, PDF and text files can be.`,
  remove: (name: string) => `Remove ${name}`,
  editHint: 'With pictures, the image is an edit of them. Transparent parts of the mask are drawn anew.',
  maskNeedsPicture: 'A mask needs a picture.',
  codeLead: 'Exactly this request. DRAGOMAN_KEY holds the value of your key.',
  frames: 'The first picture is the first frame, a second one the last frame.',
  second: 'Second model',
} as const;

export type PlayTexts = Widened<typeof english>;
export const playTexts: PlayTexts = chinese?.playTexts ?? english;
