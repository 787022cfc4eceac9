/** The native generate-content dialect in the reference (G 4.6). */
import {
  BOOLEAN,
  closed,
  described,
  INTEGER,
  JSON_SCHEMA,
  list,
  NUMBER,
  OBJECT,
  open,
  optional,
  ref,
  TEXT,
} from '../schema.ts';
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
  schemas: {
    GenerateRequest: open({
      contents: described(list(ref('GenerateContent')), 'the conversation, oldest first'),
      systemInstruction: optional(ref('GenerateContent')),
      tools: optional(list(ref('GenerateTool'))),
      toolConfig: optional(OBJECT),
      generationConfig: optional(
        open({
          maxOutputTokens: optional(INTEGER),
          temperature: optional(NUMBER),
          topP: optional(NUMBER),
          topK: optional(NUMBER),
          candidateCount: optional(INTEGER),
          stopSequences: optional(list(TEXT)),
          responseMimeType: optional(TEXT),
          responseSchema: optional(JSON_SCHEMA),
          thinkingConfig: optional(OBJECT),
        }),
      ),
      safetySettings: optional(list(OBJECT)),
      cachedContent: optional(TEXT),
    }),
    GenerateContent: open({ parts: optional(list(ref('GeneratePart'))), role: optional(TEXT, '`user` or `model`') }),
    GeneratePart: open({
      text: optional(TEXT),
      inlineData: optional(open({ mimeType: optional(TEXT), data: optional(TEXT, 'base64') })),
      fileData: optional(open({ mimeType: optional(TEXT), fileUri: optional(TEXT) })),
      functionCall: optional(
        open({
          id: optional(TEXT),
          name: optional(TEXT),
          args: optional(OBJECT),
        }),
      ),
      functionResponse: optional(
        open({
          id: optional(TEXT),
          name: optional(TEXT),
          response: optional(OBJECT),
        }),
      ),
      thought: optional(BOOLEAN),
      thoughtSignature: optional(TEXT, 'send it back unchanged'),
    }),
    GenerateTool: open({
      functionDeclarations: optional(
        list(
          open({
            name: TEXT,
            description: optional(TEXT),
            parameters: optional(JSON_SCHEMA),
          }),
        ),
      ),
    }),
    GenerateReply: open({
      candidates: optional(
        list(
          open({
            content: optional(ref('GenerateContent')),
            finishReason: optional(TEXT),
            index: optional(INTEGER),
          }),
        ),
      ),
      promptFeedback: optional(OBJECT),
      usageMetadata: optional(
        open({
          promptTokenCount: optional(INTEGER),
          candidatesTokenCount: optional(INTEGER),
          thoughtsTokenCount: optional(INTEGER),
          cachedContentTokenCount: optional(INTEGER),
          totalTokenCount: optional(INTEGER),
        }),
      ),
      modelVersion: optional(TEXT),
      responseId: optional(TEXT),
    }),
    GenerateCountRequest: open({
      contents: optional(list(ref('GenerateContent'))),
      generateContentRequest: optional(OBJECT),
    }),
    GenerateCount: open({ totalTokens: INTEGER, cachedContentTokenCount: optional(INTEGER) }),
    GenerateEmbedRequest: open({
      content: ref('GenerateContent'),
      model: optional(TEXT),
      taskType: optional(TEXT),
      title: optional(TEXT),
      outputDimensionality: optional(INTEGER),
    }),
    GenerateBatchEmbedRequest: open({ requests: list(ref('GenerateEmbedRequest')) }),
    GenerateEmbedding: open({ embedding: ref('GenerateVector') }),
    GenerateBatchEmbedding: open({ embeddings: list(ref('GenerateVector')) }),
    GenerateVector: open({ values: list(NUMBER) }),
    GenerateModel: closed({
      name: described(TEXT, '`models/` and the id'),
      baseModelId: TEXT,
      version: TEXT,
      displayName: TEXT,
      inputTokenLimit: INTEGER,
      outputTokenLimit: INTEGER,
      supportedGenerationMethods: list(TEXT),
    }),
    GenerateModelList: closed({ models: list(ref('GenerateModel')), nextPageToken: optional(TEXT) }),
  },
};
