/** Members of a reply of Converse, by the published API model: AWS's SDK is too large to read its types here. */
import type { FieldCase, Json } from './type-walk.ts';

const replyOf = (content: readonly Json[], members: Json = {}): Json => ({
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150 },
  metrics: { latencyMs: 5 },
  ...members,
});

const TEXT = { text: 'Hello, world.' };
const PLAIN = replyOf([TEXT]);

/** A block that holds the value. */
const block = (label: string, value: unknown, content: Json, other: readonly Json[] = []): FieldCase => {
  const path = `output.message.content.${label}`;
  return {
    label: path,
    path: 'citationsContent' in content ? 'citations' : (Object.keys(content)[0] ?? ''),
    body: replyOf([TEXT, content]),
    other: replyOf([TEXT, ...other]),
    value,
  };
};
const member = (path: string, value: unknown, members: Json): FieldCase => ({
  label: path,
  path,
  body: replyOf([TEXT], members),
  other: PLAIN,
  value,
});

const CALL = { toolUseId: 'call_1', name: 'find', input: { marked: 1 } };
const cited = (citation: Json): Json => ({
  citationsContent: { content: [{ text: 'cited text' }], citations: [citation] },
});
const UNCITED = [{ citationsContent: { content: [{ text: 'cited text' }] } }];
const THOUGHT = { reasoningText: { text: 'a long thought' } };

export const CONVERSE_FIELDS: readonly FieldCase[] = [
  block('text', 'marked text', { text: 'marked text' }),
  block('reasoningContent.reasoningText.text', 'a long thought', { reasoningContent: THOUGHT }),
  block(
    'reasoningContent.reasoningText.signature',
    'marked-signature',
    { reasoningContent: { reasoningText: { text: 'a long thought', signature: 'marked-signature' } } },
    [{ reasoningContent: THOUGHT }],
  ),
  block('reasoningContent.redactedContent', 'bWFya2Vk', { reasoningContent: { redactedContent: 'bWFya2Vk' } }),
  block('toolUse.input', 'find', { toolUse: CALL }),
  block('toolUse.type=server_tool_use', 'find', { toolUse: { ...CALL, type: 'server_tool_use' } }),
  block('toolResult', 'marked result', { toolResult: { toolUseId: 'call_1', content: [{ text: 'marked result' }] } }),
  block('image', 'png', { image: { format: 'png', source: { bytes: 'bWFya2Vk' } } }),
  block('audio', 'mp3', { audio: { format: 'mp3', source: { bytes: 'bWFya2Vk' } } }),
  block('citationsContent.content.text', 'cited text', UNCITED[0] ?? {}),
  block(
    'citationsContent.citations.location.web',
    'https://example.com/marked',
    cited({ title: 'Marked title', location: { web: { url: 'https://example.com/marked' } } }),
    UNCITED,
  ),
  ...['documentChar', 'documentPage', 'documentChunk'].map((kind) =>
    block(
      `citationsContent.citations.location.${kind}`,
      'Marked title',
      cited({
        title: 'Marked title',
        sourceContent: [{ text: 'source' }],
        location: { [kind]: { documentIndex: 0, start: 1, end: 4 } },
      }),
      UNCITED,
    ),
  ),
  member('trace', 'marked', { trace: { guardrail: { actionReason: 'marked' } } }),
  member('stopReason', 'guardrail_intervened', { stopReason: 'guardrail_intervened' }),
  member('serviceTier', 'priority', { serviceTier: { type: 'priority' } }),
  member('usage.cacheReadInputTokens', 7, {
    usage: { inputTokens: 100, outputTokens: 50, totalTokens: 157, cacheReadInputTokens: 7 },
  }),
];
