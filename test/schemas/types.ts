/** The types of the four dialects, and of what providers keep for callers, as the SDKs publish them. `npm run gen -- schemas` turns them into test/schemas. */
import type { ErrorResponse } from '@anthropic-ai/sdk/resources';
import type {
  BetaCompactionBlock,
  BetaFallbackBlock,
  BetaMCPToolResultBlock,
  BetaMCPToolUseBlock,
  BetaRawContentBlockDeltaEvent,
  MessageCreateParamsBase,
} from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { ContentBlock, Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import type {
  CachedContent,
  Content,
  CreateCachedContentConfig,
  GenerateContentConfig,
  GenerateContentResponse,
  GenerationConfig,
  Interactions,
  SafetySetting,
  Tool,
  ToolConfig,
} from '@google/genai';
import type { MessageCreateParamsBase as OlderMessageCreateParams } from 'anthropic-0/resources/messages/messages';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsBase,
} from 'openai/resources/chat/completions/completions';
import type { ContainerRetrieveResponse } from 'openai/resources/containers/containers';
import type { FileRetrieveResponse } from 'openai/resources/containers/files/files';
import type { Response, ResponseCreateParamsBase, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { ErrorObject } from 'openai/resources/shared';

/** Blocks that a client gets only if it sends a beta field; the message around them is an ordinary one. */
type BetaBlock = BetaCompactionBlock | BetaFallbackBlock | BetaMCPToolResultBlock | BetaMCPToolUseBlock;

/** Sampling exists only in the older API version, which clients still use. The SDK sends the omitted members as headers. */
export interface MessagesTypes {
  request: Omit<MessageCreateParamsBase, 'betas' | 'user_profile_id' | 'workspace_id'> &
    Pick<OlderMessageCreateParams, 'temperature' | 'top_k' | 'top_p'>;
  reply: Omit<Message, 'content'> & { content: (ContentBlock | BetaBlock)[] };
  event:
    | RawMessageStreamEvent
    | { type: 'content_block_start'; index: number; content_block: BetaBlock }
    | BetaRawContentBlockDeltaEvent
    | ErrorResponse
    | { type: 'ping' };
}

/** The SDK has no type for an error inside a stream; it reads the object that it also reads from an error response. */
export interface ChatTypes {
  request: ChatCompletionCreateParamsBase;
  reply: ChatCompletion;
  event: ChatCompletionChunk | { error: ErrorObject };
}

export interface ResponsesTypes {
  request: ResponseCreateParamsBase;
  reply: Response;
  event: ResponseStreamEvent;
}

/** The SDK has one flat configuration; `request` is the body that it sends. It has no type for an error inside a stream. */
export interface GenerateTypes {
  request: {
    contents: Content[];
    systemInstruction?: Content;
    tools?: Tool[];
    toolConfig?: ToolConfig;
    safetySettings?: SafetySetting[];
    generationConfig?: GenerationConfig;
    cachedContent?: string;
    serviceTier?: string;
  };
  /** The configuration, without what concerns only the SDK. */
  config: Omit<GenerateContentConfig, 'abortSignal' | 'automaticFunctionCalling' | 'httpOptions' | 'tools'> & {
    tools?: Tool[];
  };
  reply: GenerateContentResponse;
  event: GenerateContentResponse | { error: { code: number; message: string; status: string; details?: unknown[] } };
}

/** By the name in the reference. The SDK has a flat configuration of cached contents; the request is the body that it sends. */
export interface ObjectTypes {
  InteractionRequest: Interactions.CreateModelInteractionParamsNonStreaming;
  Interaction: Interactions.Interaction;
  CachedContentRequest: Pick<CreateCachedContentConfig, 'ttl' | 'expireTime' | 'displayName' | 'toolConfig'> & {
    model: string;
    contents?: Content[];
    systemInstruction?: Content;
    tools?: Tool[];
  };
  CachedContent: CachedContent;
  Container: ContainerRetrieveResponse;
  ContainerFile: FileRetrieveResponse;
}
