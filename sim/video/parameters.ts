/** Checks of the parameters of a create request, as strict as the real provider's. */
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import { type AssetCheck, type Content, readContent } from './content.ts';
import { invalid, missing, unsupported } from './errors.ts';
import { type FamilyName, familyOf, isRatio, isResolution, type Ratio, type Resolution, WORDS } from './families.ts';

/** A create request that passed all checks. */
export interface TaskRequest extends Content {
  model: string;
  family: FamilyName;
  resolution: Resolution;
  ratio: Ratio | 'adaptive';
  /** Seconds, or -1 for a length that the model chooses. */
  duration: number;
  frames?: number;
  seed?: number;
  generateAudio: boolean;
  returnLastFrame: boolean;
  serviceTier: string;
  /** Seconds after creation at which an unfinished task expires. */
  expiresAfter: number;
  callbackUrl?: string;
  searches: boolean;
  priority: number;
  safetyIdentifier?: string;
}

const KNOWN = [
  ...['model', 'content', 'resolution', 'ratio', 'duration', 'frames', 'seed', 'generate_audio', 'watermark'],
  ...['return_last_frame', 'service_tier', 'execution_expires_after', 'callback_url', 'tools', 'priority'],
  ...['camera_fixed', 'draft', 'safety_identifier', 'omni_reference_task_type', 'output_format'],
];
const BOOLEANS = ['generate_audio', 'watermark', 'return_last_frame', 'camera_fixed'];
const OPTIONAL = ['generate_audio', 'tools', 'priority', 'camera_fixed'] as const;
const WORD_NAMES = ['omni_reference_task_type', 'output_format'] as const;
const LARGEST_SEED = 2 ** 32 - 1;
export const DEFAULT_EXPIRY_S = 172_800;
const DEFAULT_DURATION_S = 5;

/** `model` is the name without triggers. */
export function readRequest(body: JsonObject, model: string, family: FamilyName, checkAsset: AssetCheck): TaskRequest {
  const unknown = Object.keys(body).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw invalid(unknown, 'the parameter is unknown');
  const limits = familyOf(family);
  const content = readContent(body.content, limits, checkAsset);
  for (const name of [...OPTIONAL, ...WORD_NAMES]) {
    if (body[name] !== undefined && !limits.parameters.includes(name)) throw unsupported(name);
  }
  for (const name of WORD_NAMES) {
    const words: readonly unknown[] = WORDS[name];
    if (body[name] !== undefined && !words.includes(body[name]))
      throw invalid(name, `it must be ${words.join(' or ')}`);
  }
  if (limits.parameters.includes('omni_reference_task_type')) checkTaskType(body, content);
  if (body.draft !== undefined) throw unsupported('draft');
  for (const name of BOOLEANS) {
    if (body[name] !== undefined && typeof body[name] !== 'boolean') throw invalid(name, 'it must be a boolean');
  }
  const frames = readFrames(body, family);
  const seed = integer(body, 'seed', -1, LARGEST_SEED);
  const callbackUrl = readCallbackUrl(body);
  const safetyIdentifier = readSafetyIdentifier(body);
  return {
    ...content,
    model,
    family,
    ...readFormat(body, family, content.prompt),
    ...(frames !== undefined && { frames }),
    ...(seed !== undefined && { seed }),
    generateAudio: body.generate_audio !== false && limits.parameters.includes('generate_audio'),
    returnLastFrame: body.return_last_frame === true,
    serviceTier: readTier(body, family),
    expiresAfter: integer(body, 'execution_expires_after', 3600, 259_200) ?? DEFAULT_EXPIRY_S,
    ...(callbackUrl !== undefined && { callbackUrl }),
    searches: readTools(body, content),
    priority: integer(body, 'priority', 0, 9) ?? 0,
    ...(safetyIdentifier !== undefined && { safetyIdentifier }),
  };
}

/** Frames and inputs that are edited or extended decide the ratio, an edit also the length. */
function checkTaskType({ omni_reference_task_type: type, ratio, duration }: JsonObject, { media }: Content): void {
  const isFrames = media.some(({ role }) => role === 'first_frame' || role === '');
  const isBound = isFrames || type === 'edit' || type === 'extend';
  const code = 'InvalidParameter.TaskTypeConstraint';
  if (isBound && ratio !== undefined && ratio !== 'adaptive') throw invalid('ratio', 'it must be adaptive', code);
  if (type === 'edit' && duration !== undefined && duration !== -1) throw invalid('duration', 'it must be -1', code);
}

export function readModel(body: JsonObject): string {
  if (body.model === undefined || body.model === '') throw missing('model');
  if (typeof body.model !== 'string') throw invalid('model', 'it must be a string');
  return body.model;
}

/** Old options in the prompt, such as `--rs 1080p`, override the parameters; their values are hardly checked. */
function readFormat(
  body: JsonObject,
  family: FamilyName,
  prompt: string,
): Pick<TaskRequest, 'resolution' | 'ratio' | 'duration'> {
  const { resolutions, duration } = familyOf(family);
  const resolution = body.resolution ?? '720p';
  if (!isResolution(resolution)) throw invalid('resolution', 'it is not a known resolution');
  if (!resolutions.includes(resolution)) throw unsupported('resolution');
  const ratio = body.ratio ?? 'adaptive';
  if (ratio !== 'adaptive' && !isRatio(ratio)) throw invalid('ratio', 'it is not a known ratio');
  const option = (names: string) => new RegExp(`--(?:${names})\\s+(\\S+)`).exec(prompt)?.[1];
  const [resolutionOption, ratioOption] = [option('rs|resolution'), option('rt|ratio')];
  const requested = readDuration(body, family);
  const seconds = Number(option('dur|duration'));
  return {
    resolution: isResolution(resolutionOption) ? resolutionOption : resolution,
    ratio: isRatio(ratioOption) ? ratioOption : ratio,
    duration: seconds >= duration.min && seconds <= duration.max ? Math.floor(seconds) : requested,
  };
}

function readDuration(body: JsonObject, family: FamilyName): number {
  const { min, max, automatic, default: usual = DEFAULT_DURATION_S } = familyOf(family).duration;
  if (automatic && body.duration === -1) return -1;
  return integer(body, 'duration', min, max) ?? usual;
}

function readFrames(body: JsonObject, family: FamilyName): number | undefined {
  const { frames: limits } = familyOf(family);
  if (body.frames === undefined) return undefined;
  if (!limits) throw unsupported('frames');
  const frames = integer(body, 'frames', limits.min, limits.max) ?? limits.min;
  if (limits.step && (frames - 25) % 4 !== 0) throw invalid('frames', 'it must be 25 + 4n');
  return frames;
}

function readTier(body: JsonObject, family: FamilyName): string {
  const tier = body.service_tier ?? 'default';
  if (typeof tier !== 'string') throw invalid('service_tier', 'it must be a string');
  if (!familyOf(family).tiers.includes(tier)) throw unsupported('service_tier');
  return tier;
}

function readCallbackUrl(body: JsonObject): string | undefined {
  if (body.callback_url === undefined) return undefined;
  const url = textOf(body.callback_url);
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) throw invalid('callback_url', 'it must be an HTTP or HTTPS URL');
  return url;
}

function readSafetyIdentifier(body: JsonObject): string | undefined {
  if (body.safety_identifier === undefined) return undefined;
  const identifier = textOf(body.safety_identifier);
  const isFitting = identifier !== '' && identifier.length <= 64;
  if (!isFitting) throw invalid('safety_identifier', 'it must be a string of 1 to 64 characters');
  return identifier;
}

/** Search works only for requests of pure text. */
function readTools(body: JsonObject, { media }: Content): boolean {
  if (body.tools === undefined) return false;
  if (!Array.isArray(body.tools)) throw invalid('tools', 'it must be an array');
  const isKnown = body.tools.every((tool) => isObject(tool) && tool.type === 'web_search');
  if (!isKnown) throw invalid('tools', 'the only type is web_search');
  if (body.tools.length > 0 && media.length > 0) throw invalid('tools', 'search needs an input of text only');
  return body.tools.length > 0;
}

function integer(body: JsonObject, name: string, min: number, max: number): number | undefined {
  if (body[name] === undefined) return undefined;
  const value = numberOf(body[name]);
  if (value === undefined || !Number.isInteger(value)) throw invalid(name, 'it must be an integer');
  if (value < min || value > max) throw invalid(name, `it must be between ${min} and ${max}`);
  return value;
}
