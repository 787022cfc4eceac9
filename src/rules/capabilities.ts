/**
 * What a model accepts: defaults by style, model families by name, overridable per model in the catalog. A converted request is
 * encoded for these flags. When in doubt a flag is off: that drops a field, where a wrong "on" would make the provider reject the request.
 */
import type { Style } from './groups.ts';

export interface Capabilities {
  /** Which forms of thinking the messages side accepts. */
  readonly thinking: 'adaptive' | 'manual' | 'both' | 'none';
  /** `thinking: disabled` is accepted, or `between_tools` in its place. */
  readonly thinkingOff: boolean | 'between_tools';
  /** Temperature and its like are accepted. */
  readonly sampling: 'full' | 'none';
  /** Accepted reasoning efforts; others become the nearest one. */
  readonly efforts: readonly string[];
  /** How thinking is configured on the generate side. */
  readonly thinkingConfig: 'level' | 'budget' | 'none';
  /** Smallest and largest thinking budget in tokens. */
  readonly thinkingBudget: readonly [number, number];
  /** The model thinks without being asked to. Only then does the generate side accept a request for thoughts alone. */
  readonly thinksByDefault: boolean;
  /** Reasoning is returned encrypted on request, so that the client can carry it. */
  readonly encryptedReasoning: boolean;
  /** The conversation may end with an assistant turn that the model continues. */
  readonly prefill: boolean;
  /** System messages may stand in the middle of the conversation. */
  readonly midSystem: boolean;
  /** Reasoning display can be chosen. */
  readonly display: boolean;
  /** A `stop` field exists and is honoured. */
  readonly stop: boolean;
  readonly customTools: boolean;
  /** Assistant messages carry a phase. */
  readonly phase: boolean;
  /** Explicit cache breakpoints are accepted. */
  readonly explicitCache: boolean;
  /** Tool parameters may be full JSON Schema; otherwise the restricted schema form is sent. */
  readonly jsonSchemaTools: boolean;
  /** Functions and web search may be offered together. */
  readonly functionsWithSearch: boolean;
  /** Functions and a response schema may be asked for together. */
  readonly functionsWithSchema: boolean;
  /** Tool results may hold media. */
  readonly resultMedia: boolean;
  /** Images and files may be named by https address. */
  readonly urlMedia: boolean;
  /** The most tokens that one image in the input counts; admission reserves them. */
  readonly imageTokens: number;
  /** Replies may contain generated images. */
  readonly imageOutput: boolean;
  /** The images endpoint reaches the model by conversion, where the matrix offers that; only the operator sets it. */
  readonly imagesEndpoint: boolean;
  readonly maxOutput: number;
}
export type CapabilityOverrides = Partial<Capabilities>;

const OPENAI_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Unknown names get these: what the newest generation of each side takes. */
export const DEFAULT_CAPABILITIES: Readonly<Record<Style, Capabilities>> = {
  messages: {
    thinking: 'adaptive',
    thinkingOff: true,
    sampling: 'none',
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingConfig: 'none',
    thinkingBudget: [1024, 32_000],
    thinksByDefault: false,
    encryptedReasoning: false,
    prefill: false,
    midSystem: false,
    display: true,
    stop: true,
    customTools: false,
    phase: false,
    explicitCache: true,
    jsonSchemaTools: true,
    functionsWithSearch: true,
    functionsWithSchema: true,
    resultMedia: true,
    urlMedia: true,
    imageTokens: 5_000,
    imageOutput: false,
    imagesEndpoint: false,
    maxOutput: 64_000,
  },
  responses: {
    thinking: 'none',
    thinkingOff: true,
    sampling: 'none',
    efforts: OPENAI_EFFORTS,
    thinkingConfig: 'none',
    thinkingBudget: [0, 0],
    thinksByDefault: false,
    encryptedReasoning: true,
    prefill: false,
    midSystem: true,
    display: true,
    stop: false,
    customTools: true,
    phase: false,
    explicitCache: false,
    jsonSchemaTools: true,
    functionsWithSearch: true,
    functionsWithSchema: true,
    resultMedia: true,
    urlMedia: true,
    imageTokens: 16_000,
    imageOutput: true,
    imagesEndpoint: false,
    maxOutput: 128_000,
  },
  'generate-content': {
    thinking: 'none',
    thinkingOff: true,
    sampling: 'full',
    efforts: ['low', 'medium', 'high'],
    thinkingConfig: 'level',
    thinkingBudget: [0, 24_576],
    thinksByDefault: false,
    encryptedReasoning: false,
    prefill: true,
    midSystem: false,
    display: true,
    stop: true,
    customTools: false,
    phase: false,
    explicitCache: false,
    jsonSchemaTools: true,
    functionsWithSearch: true,
    functionsWithSchema: true,
    resultMedia: true,
    urlMedia: false,
    imageTokens: 5_000,
    imageOutput: false,
    imagesEndpoint: false,
    maxOutput: 65_536,
  },
};
