/**
 * What a model can put out and do by itself, beyond the text that its request limits: admission reserves for it. A
 * family is known by its name, an operator states it as a capability; what nobody says follows from the prices.
 */
import { DEFAULT_TOOL_USES } from './hosted-tools.ts';

export interface Abilities {
  /** The most pictures in one choice of a reply. */
  readonly pictures: number;
  /** Replies may hold sound. */
  readonly sound: boolean;
  /** Replies may hold videos. */
  readonly video: boolean;
  /** The most searches that the model makes for one reply, where the request asks for none. */
  readonly searches: number;
  /** The model reads pages or files that the request does not name. */
  readonly pages: boolean;
  /** The model runs code, and reads what it prints. */
  readonly code: boolean;
  /** Calls of other models, each of which reads the whole conversation. */
  readonly otherModels: number;
  /** The limit of the request does not hold: the model writes up to its own largest output. */
  readonly ownLimit: boolean;
}
export type AbilityName = keyof Abilities;

/** A model that writes text, and reasons, within the limit of the request. */
export const TEXT_ONLY: Abilities = {
  pictures: 0,
  sound: false,
  video: false,
  searches: 0,
  pages: false,
  code: false,
  otherModels: 0,
  ownLimit: false,
};
export const ABILITY_NAMES = Object.keys(TEXT_ONLY) as AbilityName[];

/** Gemini 2.5 Flash Image states ten; nobody states more. */
const MOST_PICTURES = 10;
/** Searches of a research model; replies with several dozen were seen. */
const RESEARCH_SEARCHES = 100;

const SEARCHING = { searches: DEFAULT_TOOL_USES, pages: true };
const RESEARCHING = { searches: RESEARCH_SEARCHES, pages: true, code: true, ownLimit: true };

interface AbilityFamily {
  /** Of the name that the provider gets, in lower case, with the prefix of a router. */
  readonly name: RegExp;
  readonly can: Partial<Abilities>;
}

/** Routers add a search by a suffix, among others: the caller asks for it, whatever is known of the model. */
const ASKED_BY_NAME: AbilityFamily = { name: /:online(?=:|$)/, can: SEARCHING };

/** The first that matches decides. What a row leaves out, its models cannot do. */
const FAMILIES: readonly AbilityFamily[] = [
  { name: /sonar-deep-research|deep-research/, can: RESEARCHING },
  { name: /(?:^|\/)sonar\b/, can: SEARCHING },
  { name: /(?:^|\/)compound-mini\b/, can: { ...SEARCHING, code: true, otherModels: 1 } },
  { name: /(?:^|\/)compound\b/, can: { ...SEARCHING, code: true, otherModels: DEFAULT_TOOL_USES } },
  { name: /-search(?:-preview|-api)?(?:-\d|$)/, can: SEARCHING },
  {
    name: /image|imagen|dall-e|banana|flux|seedream|recraft|ideogram|stable-diffusion|sdxl|kolors/,
    can: { pictures: MOST_PICTURES },
  },
  { name: /\bvideo\b|(?:^|\/)(?:veo|sora)\b/, can: { video: true } },
  { name: /audio|realtime|omni|voice|\btts\b/, can: { sound: true } },
  { name: /^demo-/, can: {} },
  {
    name: /(?:^|[/.])(?:claude|gpt|chatgpt|o[1-9]|codex|gemini|gemma|learnlm)\b/,
    can: {},
  },
  {
    name: /(?:^|[/.])(?:(?:meta-)?llama|qwen|qwq|qvq|deepseek|mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    can: {},
  },
  {
    name: /(?:^|[/.])(?:glm|chatglm|kimi|moonshot|minimax|grok|command|phi|nova|titan|jamba|yi|ernie|doubao|hunyuan|granite|nemotron|olmo)/,
    can: {},
  },
  { name: /embed|rerank|moderation/, can: {} },
];

/** Rates of a price that show what its model may do. */
export interface PricedAbilities {
  readonly image_output?: unknown;
  readonly per_image?: unknown;
  readonly audio_output?: unknown;
  readonly video_output?: unknown;
  readonly citation?: unknown;
  readonly per_search?: unknown;
  readonly per_file_search?: unknown;
  readonly per_fetch?: unknown;
}

/**
 * What the operator states decides, then what replies have shown, then the family; a model of no family can do
 * everything that its line has a price for.
 */
export function abilitiesOf(
  upstream: string,
  rates: PricedAbilities,
  { stated, learned }: { readonly stated: Partial<Abilities>; readonly learned: Partial<Abilities> },
): Abilities {
  const name = upstream.toLowerCase();
  const family = FAMILIES.find((one) => one.name.test(name));
  const known: Abilities = family ? { ...TEXT_ONLY, ...family.can } : pricedAbilities(rates);
  const can = { ...mostOf(known, learned), ...definedOf(stated) };
  return ASKED_BY_NAME.name.test(name) ? mostOf(can, ASKED_BY_NAME.can) : can;
}

export const isKnownFamily = (upstream: string): boolean =>
  FAMILIES.some(({ name }) => name.test(upstream.toLowerCase()));

function pricedAbilities(rates: PricedAbilities): Abilities {
  const has = (...names: (keyof PricedAbilities)[]): boolean => names.some((name) => rates[name] !== undefined);
  const isSearching = has('per_search', 'per_file_search', 'per_fetch', 'citation');
  return {
    ...TEXT_ONLY,
    pictures: has('image_output', 'per_image') ? MOST_PICTURES : 0,
    sound: has('audio_output'),
    video: has('video_output'),
    searches: isSearching ? DEFAULT_TOOL_USES : 0,
    pages: isSearching,
  };
}

/** Of two statements, the one that costs more. */
export function mostOf(one: Abilities, other: Partial<Abilities>): Abilities {
  const most: Record<string, number | boolean> = { ...one };
  for (const name of ABILITY_NAMES) {
    const value = other[name];
    if (value !== undefined && Number(value) > Number(most[name])) most[name] = value;
  }
  return most as unknown as Abilities;
}

/** The abilities among the capabilities of a line. */
const definedOf = (stated: Partial<Abilities>): Partial<Abilities> =>
  Object.fromEntries(ABILITY_NAMES.flatMap((name) => (stated[name] === undefined ? [] : [[name, stated[name]]])));
