/** The native generate-content dialect in the reference (G 4.6). */
import { ANY_OBJECT, arrayOf, BOOLEAN, described, INTEGER, NUMBER, object, openObject, ref, TEXT } from '../schema.ts';
import { type DialectSchemas, JSON_SCHEMA, streamText } from './dialect.ts';

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
  schemas: {
    GenerateRequest: openObject(
      { contents: described('the conversation, oldest first', arrayOf(ref('GenerateContent'))) },
      {
        systemInstruction: ref('GenerateContent'),
        tools: arrayOf(ref('GenerateTool')),
        toolConfig: ANY_OBJECT,
        generationConfig: openObject(
          {},
          {
            maxOutputTokens: INTEGER,
            temperature: NUMBER,
            topP: NUMBER,
            topK: NUMBER,
            candidateCount: INTEGER,
            stopSequences: arrayOf(TEXT),
            responseMimeType: TEXT,
            responseSchema: JSON_SCHEMA,
            thinkingConfig: ANY_OBJECT,
          },
        ),
        safetySettings: arrayOf(ANY_OBJECT),
        cachedContent: TEXT,
      },
    ),
    GenerateContent: openObject(
      {},
      { parts: arrayOf(ref('GeneratePart')), role: described('`user` or `model`', TEXT) },
    ),
    GeneratePart: openObject(
      {},
      {
        text: TEXT,
        inlineData: openObject({}, { mimeType: TEXT, data: described('base64', TEXT) }),
        fileData: openObject({}, { mimeType: TEXT, fileUri: TEXT }),
        functionCall: openObject({}, { id: TEXT, name: TEXT, args: ANY_OBJECT }),
        functionResponse: openObject({}, { id: TEXT, name: TEXT, response: ANY_OBJECT }),
        thought: BOOLEAN,
        thoughtSignature: described('send it back unchanged', TEXT),
      },
    ),
    GenerateTool: openObject(
      {},
      { functionDeclarations: arrayOf(openObject({ name: TEXT }, { description: TEXT, parameters: JSON_SCHEMA })) },
    ),
    GenerateReply: openObject(
      {},
      {
        candidates: arrayOf(openObject({}, { content: ref('GenerateContent'), finishReason: TEXT, index: INTEGER })),
        promptFeedback: ANY_OBJECT,
        usageMetadata: openObject(
          {},
          {
            promptTokenCount: INTEGER,
            candidatesTokenCount: INTEGER,
            thoughtsTokenCount: INTEGER,
            cachedContentTokenCount: INTEGER,
            totalTokenCount: INTEGER,
          },
        ),
        modelVersion: TEXT,
        responseId: TEXT,
      },
    ),
    GenerateCountRequest: openObject(
      {},
      { contents: arrayOf(ref('GenerateContent')), generateContentRequest: ANY_OBJECT },
    ),
    GenerateCount: openObject({ totalTokens: INTEGER }, { cachedContentTokenCount: INTEGER }),
    GenerateEmbedRequest: openObject(
      { content: ref('GenerateContent') },
      { model: TEXT, taskType: TEXT, title: TEXT, outputDimensionality: INTEGER },
    ),
    GenerateBatchEmbedRequest: openObject({ requests: arrayOf(ref('GenerateEmbedRequest')) }),
    GenerateEmbedding: openObject({ embedding: ref('GenerateVector') }),
    GenerateBatchEmbedding: openObject({ embeddings: arrayOf(ref('GenerateVector')) }),
    GenerateVector: openObject({ values: arrayOf(NUMBER) }),
    GenerateModel: object({
      name: described('`models/` and the id', TEXT),
      baseModelId: TEXT,
      version: TEXT,
      displayName: TEXT,
      inputTokenLimit: INTEGER,
      outputTokenLimit: INTEGER,
      supportedGenerationMethods: arrayOf(TEXT),
    }),
    GenerateModelList: object({ models: arrayOf(ref('GenerateModel')) }, { nextPageToken: TEXT }),
  },
};
