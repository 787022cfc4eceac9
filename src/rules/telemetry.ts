/**
 * `gen_ai.provider.name` of OpenTelemetry's GenAI conventions, by the host of an account; a server that they do not
 * list has the name of its preset.
 */
import { type ChatPreset, chatPresetOf } from './chat-presets.ts';
import type { Style } from './groups.ts';

const PRESET_PROVIDERS: Partial<Record<ChatPreset, string>> = {
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
  generic: 'openai_compatible',
};

/** First match, of all styles. */
const HOST_PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/\.openai\.azure\.com$/, 'azure.ai.openai'],
  [/^bedrock[\w.-]*\.amazonaws\.com$/, 'aws.bedrock'],
  [/(?:^|-)aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/^api\.perplexity\.ai$/, 'perplexity'],
  [/^api\.cohere\.(?:com|ai)$/, 'cohere'],
];

export function telemetryProvider(style: Style, baseUrl: string, preset?: ChatPreset): string {
  const { hostname } = new URL(baseUrl);
  const byHost = HOST_PROVIDERS.find(([host]) => host.test(hostname))?.[1];
  if (byHost) return byHost;
  if (style === 'messages') return 'anthropic';
  if (style === 'generate-content') return 'gcp.gen_ai';
  const known = chatPresetOf(baseUrl, preset);
  return PRESET_PROVIDERS[known] ?? known;
}
