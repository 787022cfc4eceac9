/** Members of generate-content requests, in both spellings: @google/genai, `GenerateContentParameters`, as it sends them. */
import { readKinds } from './kind.ts';

/** `resolution` has no `numTokens`: a number of tokens for one picture has no limit here. */
const PARTS = `
request path: model
content: role parts:part
part: text thought thoughtSignature inlineData:media^media fileData:media^media videoMetadata:video mediaResolution:resolution mediaProcessing
  functionCall:call functionResponse:answer executableCode* codeExecutionResult* toolCall* toolResponse* partMetadata* audioTranscription*
  speechMetadata*
media: data mimeType fileUri displayName
video: startOffset endOffset fps
resolution: level
call: id name args* partialArgs* willContinue
answer: id name response* scheduling willContinue parts:part
`;

/** `routing` has no `autoMode`: the provider would choose the model. */
export const GENERATE_MEMBERS = readKinds(`
request text: contents:content systemInstruction:content
request bounded: generationConfig:config tools:tool cachedContent
request tier: serviceTier
request within: toolConfig:choice safetySettings:safety
request label: labels* store
tool: functionDeclarations* computerUse* googleSearch*^tool googleSearchRetrieval*^tool enterpriseWebSearch*^tool exaAiSearch*^tool
  parallelAiSearch*^tool urlContext*^tool fileSearch*^tool googleMaps*^tool codeExecution*^tool mcpServers*^tool retrieval:retrieval^tool
retrieval: disableAttribution externalApi* vertexAiSearch* vertexRagStore:rag
rag: ragCorpora ragResources* ragRetrievalConfig:rag_config similarityTopK storeContext vectorDistanceThreshold
rag_config: filter* hybridSearch* topK ranking:ranking
ranking: llmRanker:ranker rankService*
ranker: modelName=model
config: maxOutputTokens candidateCount responseModalities imageConfig:picture responseFormat:format temperature topP topK seed stopSequences
  presencePenalty frequencyPenalty logprobs responseLogprobs responseMimeType responseSchema* responseJsonSchema* _responseJsonSchema*
  thinkingConfig:thinking speechConfig* audioTimestamp audioTranscriptionConfig* translationConfig* mediaResolution enableEnhancedCivicAnswers
  enableAffectiveDialog routingConfig:routing
routing: manualMode:manual
manual: modelName=model
thinking: includeThoughts thinkingBudget thinkingLevel
picture: aspectRatio imageSize imageOutputOptions* outputCompressionQuality outputMimeType personGeneration prominentPeople
format: text* image:picture_format audio*
picture_format: aspectRatio delivery imageSize mimeType
safety: category method threshold
choice: functionCallingConfig:calling retrievalConfig* includeServerSideToolInvocations
calling: mode allowedFunctionNames streamFunctionCallArguments
${PARTS}`);

/** Of cached contents: @google/genai, `CreateCachedContentConfig` and `UpdateCachedContentConfig`. Its lifetime is charged as the reply has it. */
export const CACHE_MEMBERS = {
  ...GENERATE_MEMBERS,
  ...readKinds(`
request path: model
request text: contents:content systemInstruction:content
request bounded: tools:tool ttl expireTime
request within: toolConfig:choice
request label: displayName
`),
};

/** Of interactions: @google/genai, `CreateModelInteraction`. Media and hosted tools are not listed: nothing here bounds them. */
export const INTERACTION_MEMBERS = readKinds(`
request text: model input:content system_instruction
request bounded: generation_config:config tools:tool cached_content previous_interaction_id
request tier: service_tier
request within: response_format:format response_mime_type safety_settings*
request delivery: stream store background continuation_token
request label: labels*
content(text): text annotations*
content(user_input model_output): content:content
content(thought): signature summary:content
content(function_call): id name arguments* signature
content(function_result): call_id name result* is_error
tool(function): name description parameters*
config: max_output_tokens temperature top_p seed stop_sequences thinking_level thinking_summaries tool_choice*
format: type mime_type schema*
`);

/** Of the operations that return vectors. */
export const EMBED_MEMBERS = readKinds(`
request text: content:content requests:request title
request vectors: taskType outputDimensionality autoTruncate embedContentConfig:config
config: taskType title outputDimensionality autoTruncate mimeType
${PARTS}`);
