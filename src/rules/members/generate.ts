/**
 * Members of generate-content requests, in both spellings: @google/genai, `GenerateContentParameters`, as it sends
 * them.
 */
import { words } from '../words.ts';
import { objectKinds } from './kind.ts';

/** `resolution` has no `numTokens`: a number of tokens for one picture has no limit here. */
const PARTS = {
  content: { members: ['role', 'parts:part'] },
  part: {
    members: words(
      'text thought thoughtSignature inlineData:media^media fileData:media^media videoMetadata:video',
      'mediaResolution:resolution mediaProcessing functionCall:call functionResponse:answer executableCode*',
      'codeExecutionResult* toolCall* toolResponse* partMetadata* audioTranscription* speechMetadata*',
    ),
  },
  media: { members: ['data', 'mimeType', 'fileUri', 'displayName'] },
  video: { members: ['startOffset', 'endOffset', 'fps'] },
  resolution: { members: ['level'] },
  call: { members: ['id', 'name', 'args*', 'partialArgs*', 'willContinue'] },
  answer: { members: ['id', 'name', 'response*', 'scheduling', 'willContinue', 'parts:part'] },
} as const;
/** The path names the model, and the body can only repeat it. */
const PATH = { why: 'path', members: ['model'] } as const;

/** `routing` has no `autoMode`: the provider would choose the model. */
const GENERATE_KINDS = {
  tool: {
    members: words(
      'functionDeclarations* computerUse* googleSearch*^tool googleSearchRetrieval*^tool',
      'enterpriseWebSearch*^tool exaAiSearch*^tool parallelAiSearch*^tool urlContext*^tool fileSearch*^tool',
      'googleMaps*^tool codeExecution*^tool mcpServers*^tool retrieval:retrieval^tool',
    ),
  },
  retrieval: { members: ['disableAttribution', 'externalApi*', 'vertexAiSearch*', 'vertexRagStore:rag'] },
  rag: {
    members: [
      'ragCorpora',
      'ragResources*',
      'ragRetrievalConfig:rag_config',
      'similarityTopK',
      'storeContext',
      'vectorDistanceThreshold',
    ],
  },
  rag_config: { members: ['filter*', 'hybridSearch*', 'topK', 'ranking:ranking'] },
  ranking: { members: ['llmRanker:ranker', 'rankService*'] },
  ranker: { members: ['modelName=model'] },
  config: {
    members: words(
      'maxOutputTokens candidateCount responseModalities imageConfig:picture responseFormat:format',
      'temperature topP topK seed stopSequences presencePenalty frequencyPenalty logprobs responseLogprobs',
      'responseMimeType responseSchema* responseJsonSchema* _responseJsonSchema* thinkingConfig:thinking',
      'speechConfig* audioTimestamp audioTranscriptionConfig* translationConfig* mediaResolution',
      'enableEnhancedCivicAnswers enableAffectiveDialog routingConfig:routing',
    ),
  },
  routing: { members: ['manualMode:manual'] },
  manual: { members: ['modelName=model'] },
  thinking: { members: ['includeThoughts', 'thinkingBudget', 'thinkingLevel'] },
  picture: {
    members: [
      'aspectRatio',
      'imageSize',
      'imageOutputOptions*',
      'outputCompressionQuality',
      'outputMimeType',
      'personGeneration',
      'prominentPeople',
    ],
  },
  format: { members: ['text*', 'image:picture_format', 'audio*'] },
  picture_format: { members: ['aspectRatio', 'delivery', 'imageSize', 'mimeType'] },
  safety: { members: ['category', 'method', 'threshold'] },
  choice: { members: ['functionCallingConfig:calling', 'retrievalConfig*', 'includeServerSideToolInvocations'] },
  calling: { members: ['mode', 'allowedFunctionNames', 'streamFunctionCallArguments'] },
  ...PARTS,
} as const;

export const GENERATE_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['contents:content', 'systemInstruction:content'] },
    { why: 'bounded', members: ['generationConfig:config', 'tools:tool', 'cachedContent'] },
    { why: 'tier', members: ['serviceTier'] },
    { why: 'within', members: ['toolConfig:choice', 'safetySettings:safety'] },
    { why: 'label', members: ['labels*', 'store'] },
    PATH,
  ],
  ...GENERATE_KINDS,
});

/**
 * Of cached contents: @google/genai, `CreateCachedContentConfig` and `UpdateCachedContentConfig`. Its lifetime is
 * charged as the reply has it.
 */
export const CACHE_MEMBERS = objectKinds({
  request: [
    { why: 'path', members: ['model'] },
    { why: 'text', members: ['contents:content', 'systemInstruction:content'] },
    { why: 'bounded', members: ['tools:tool', 'ttl', 'expireTime'] },
    { why: 'within', members: ['toolConfig:choice'] },
    { why: 'label', members: ['displayName'] },
  ],
  ...GENERATE_KINDS,
});

/**
 * Of interactions: @google/genai, `CreateModelInteraction`. Media and hosted tools are not listed: nothing here bounds
 * them.
 */
export const INTERACTION_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['model', 'input:content', 'system_instruction'] },
    {
      why: 'bounded',
      members: ['generation_config:config', 'tools:tool', 'cached_content', 'previous_interaction_id'],
    },
    { why: 'tier', members: ['service_tier'] },
    { why: 'within', members: ['response_format:format', 'response_mime_type', 'safety_settings*'] },
    { why: 'delivery', members: ['stream', 'store', 'background', 'continuation_token'] },
    { why: 'label', members: ['labels*'] },
  ],
  content: {
    types: {
      text: ['text', 'annotations*'],
      user_input: ['content:content'],
      model_output: ['content:content'],
      thought: ['signature', 'summary:content'],
      function_call: ['id', 'name', 'arguments*', 'signature'],
      function_result: ['call_id', 'name', 'result*', 'is_error'],
    },
  },
  tool: {
    types: {
      function: ['name', 'description', 'parameters*'],
    },
  },
  config: {
    members: [
      'max_output_tokens',
      'temperature',
      'top_p',
      'seed',
      'stop_sequences',
      'thinking_level',
      'thinking_summaries',
      'tool_choice*',
    ],
  },
  format: { members: ['type', 'mime_type', 'schema*'] },
});

/** Of the operations that return vectors. */
export const EMBED_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['content:content', 'requests:request', 'title'] },
    { why: 'vectors', members: ['taskType', 'outputDimensionality', 'autoTruncate', 'embedContentConfig:config'] },
    PATH,
  ],
  config: { members: ['taskType', 'title', 'outputDimensionality', 'autoTruncate', 'mimeType'] },
  ...PARTS,
});
