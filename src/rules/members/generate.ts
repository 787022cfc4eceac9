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

/** Of the operations that return vectors. */
export const EMBED_MEMBERS = readKinds(`
request text: content:content requests:request title
request vectors: taskType outputDimensionality autoTruncate embedContentConfig:config
config: taskType title outputDimensionality autoTruncate mimeType
${PARTS}`);
