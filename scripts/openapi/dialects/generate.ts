/** The native generate-content dialect in the reference (G 4.6). */
import { schemasOf } from '../schema.ts';
import { type DialectSchemas, streamText } from './dialect.ts';

const candidate = (text: string, more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
});
const USAGE = {
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 9, totalTokenCount: 21 },
  modelVersion: 'demo-generate',
} as const;

export const GENERATE: DialectSchemas = {
  request: 'GenerateRequest',
  reply: 'GenerateReply',
  replyExample: { ...candidate('Hello! How can I help?', { finishReason: 'STOP' }), ...USAGE },
  streamAbout: 'Each event is a part of the reply in the form of `GenerateReply`. Usage is in the last one.',
  streamExample: streamText(
    [undefined, candidate('Hello!')],
    [undefined, { ...candidate('', { finishReason: 'STOP' }), ...USAGE }],
  ),
  schemas: schemasOf(`
GenerateRequest: contents: GenerateContent[] (the conversation, oldest first), systemInstruction?: GenerateContent,
  tools?: GenerateTool[], toolConfig?: object, generationConfig?: { maxOutputTokens?: integer, temperature?: number,
  topP?: number, topK?: number, candidateCount?: integer, stopSequences?: string[], responseMimeType?: string,
  responseSchema?: schema, thinkingConfig?: object }, safetySettings?: object[], cachedContent?: string
GenerateContent: parts?: GeneratePart[], role?: string ('user' or 'model')
GeneratePart: text?: string, inlineData?: { mimeType?: string, data?: string (base64) },
  fileData?: { mimeType?: string, fileUri?: string }, functionCall?: { id?: string, name?: string, args?: object },
  functionResponse?: { id?: string, name?: string, response?: object }, thought?: boolean,
  thoughtSignature?: string (send it back unchanged)
GenerateTool: functionDeclarations?: { name: string, description?: string, parameters?: schema }[]
GenerateReply: candidates?: { content?: GenerateContent, finishReason?: string, index?: integer }[], promptFeedback?: object,
  usageMetadata?: { promptTokenCount?: integer, candidatesTokenCount?: integer, thoughtsTokenCount?: integer,
  cachedContentTokenCount?: integer, totalTokenCount?: integer }, modelVersion?: string, responseId?: string
GenerateCountRequest: contents?: GenerateContent[], generateContentRequest?: object
GenerateCount: totalTokens: integer, cachedContentTokenCount?: integer
GenerateEmbedRequest: content: GenerateContent, model?: string, taskType?: string, title?: string,
  outputDimensionality?: integer
GenerateBatchEmbedRequest: requests: GenerateEmbedRequest[]
GenerateEmbedding: embedding: GenerateVector
GenerateBatchEmbedding: embeddings: GenerateVector[]
GenerateVector: values: number[]
closed GenerateModel: name: string ('models/' and the id), baseModelId: string, version: string, displayName: string,
  inputTokenLimit: integer, outputTokenLimit: integer, supportedGenerationMethods: string[]
closed GenerateModelList: models: GenerateModel[], nextPageToken?: string
`),
};
