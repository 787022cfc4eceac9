/**
 * The hub: the neutral form between two dialects. A conversation is one flat, ordered list of items,
 * each holding parts; turns follow from role and adjacency. The hub knows no wire format, and items
 * are never regrouped by type. Values that only their issuer can read are `opaque`: carried, dropped
 * or replaced as a whole, never edited. Reasons: docs/adr/0003-one-hub.md
 */
import type { Usage } from '../../core/index.ts';
import type { ClientDialect, ErrorCode, ServerTool, Style } from '../../rules/index.ts';

export interface HubRequest {
  readonly dialect: ClientDialect;
  readonly model: string;
  readonly stream: boolean;
  /** Instructions ahead of the conversation, one part per block. */
  readonly system: readonly HubText[];
  readonly items: readonly HubItem[];
  readonly tools: readonly HubTool[];
  readonly toolChoice: HubToolChoice;
  readonly parallelTools?: boolean;
  readonly allowedTools?: HubAllowedTools;
  readonly reasoning: HubReasoning;
  readonly output: HubOutput;
  readonly limits: HubLimits;
  readonly sampling: HubSampling;
  readonly cache: { readonly auto?: boolean; readonly key?: string };
  readonly state: { readonly previousId?: string; readonly store?: boolean; readonly background?: boolean };
  /** Of the round before, which the provider continues; never from a client. */
  readonly continuationToken?: string;
  readonly meta: HubMeta;
  /** The client's session id, if it sends one: keeps a conversation on one account and one prompt cache. */
  readonly session?: string;
  /** Client fields without a hub field; a conversion drops them and names them in `x-gateway-dropped`. */
  readonly unknown: readonly string[];
  /** Reasoning of the history was left out, because a provider rejected its opaque value. */
  readonly omitsThoughts?: boolean;
  /** Names under which the client sent a field, where they are not the one of its dialect; see `FieldNames`. */
  readonly fieldNames?: GivenNames;
  /** Options about the form of the response that exist only in the client's dialect. */
  readonly clientOptions: { readonly usageChunk?: boolean; readonly thoughts?: boolean; readonly logprobs?: boolean };
}

export type GivenNames = {
  readonly [F in
    | 'reasoning'
    | 'reasoningStyle'
    | 'cacheBreakpoints'
    | 'thoughts'
    | 'hostedTools'
    | 'searchTool']?: readonly [string, ...string[]];
};

export interface HubLimits {
  readonly maxOutput?: number;
  readonly maxToolCalls?: number;
  readonly prewarm?: boolean;
  /** Input tokens from which on the provider should compact the conversation. */
  readonly compactAt?: number;
}

export interface HubSampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly presence?: number;
  readonly frequency?: number;
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly n?: number;
  readonly logprobs?: boolean;
  readonly topLogprobs?: number;
  readonly stop?: readonly string[];
}

export interface HubOutput {
  readonly format: HubFormat;
  /** Here and in other settings of style, any word: the provider judges, because newer models have further ones. */
  readonly verbosity?: string;
  readonly modalities?: readonly ('text' | 'image' | 'audio')[];
  readonly image?: HubImageSettings;
}
/** Settings of generated images in the form of an aspect ratio and a tier. An image tool has its own, in `raw`. */
export interface HubImageSettings {
  /** Such as `16:9`. */
  readonly aspectRatio?: string;
  /** Such as `2K`. */
  readonly tier?: string;
}
export type HubFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema';
      readonly schema: JsonObject;
      readonly name?: string;
      readonly strict?: boolean;
      readonly description?: string;
    };

export interface HubReasoning {
  readonly mode?: 'off' | 'auto' | 'budget' | 'between_tools';
  /** One of `EFFORTS`, or a word that no table knows. */
  readonly effort?: string;
  /** Tokens; only with mode `budget`. */
  readonly budget?: number;
  readonly show?: 'none' | 'summary';
  readonly style?: string;
}

export interface HubMeta {
  readonly userId?: string;
  /** The client sent the id in the older field of its dialect. */
  readonly isLegacyUser?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly serviceTier?: 'auto' | 'standard' | 'priority' | 'flex';
}

export type HubToolChoice =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'required' }
  | { readonly kind: 'named'; readonly name: string; readonly namespace?: string }
  | { readonly kind: 'hosted'; readonly tool: ServerTool };

export interface HubAllowedTools {
  readonly mode: 'auto' | 'required';
  /** Tools that the client runs. */
  readonly names: readonly ToolName[];
  /** Tools that the provider runs; absent in dialects whose list does not concern them. */
  readonly hosted?: readonly AllowedHostedTool[];
}
export interface AllowedHostedTool {
  readonly tool: ServerTool;
  /** Of an MCP server. */
  readonly label?: string;
}

export type HubTool = { readonly cache?: CacheBreakpoint; readonly defer?: boolean } & (
  | ({ readonly kind: 'function'; readonly schema: JsonObject; readonly strict?: boolean } & DeclaredTool)
  | ({
      readonly kind: 'custom';
      readonly grammar?: { readonly syntax: string; readonly definition: string };
    } & DeclaredTool)
  /** Run by the client, shaped by one provider: bash, text editor, shell, apply_patch. */
  | { readonly kind: 'builtin'; readonly builtin: string; readonly name: string; readonly raw: JsonObject }
  /** Run by the provider. */
  | {
      readonly kind: 'server';
      readonly tool: ServerTool;
      readonly options: ServerToolOptions;
      readonly raw: JsonObject;
      /** Its place in the client's request. */
      readonly at?: string;
    }
);

export type HubServerTool = HubTool & { readonly kind: 'server' };

export interface ServerToolOptions {
  readonly allowedDomains?: readonly string[];
  readonly blockedDomains?: readonly string[];
  readonly maxUses?: number;
  readonly userLocation?: JsonObject;
  /** How much of the results the model reads. */
  readonly contextSize?: string;
  /** The search must not reach the web; only its issuer has an index of its own. */
  readonly offline?: boolean;
  /** Members of the tool and of its filters that no other provider has. */
  readonly otherOptions?: readonly string[];
  readonly otherFilters?: readonly string[];
  /** The tool needs a container that its issuer hosts, or files in one. */
  readonly machine?: boolean;
  /** Of `computer`: the screen, where another dialect can express the actions on it. */
  readonly screen?: { readonly width?: number; readonly height?: number };
}

export type { ServerTool };

export type HubItem =
  | HubMessage
  | HubReasoningItem
  | HubToolCall
  | HubToolResult
  | HubServerCall
  /** A provider's summary of the earlier conversation. */
  | { readonly kind: 'compaction'; readonly text?: string; readonly opaque?: Opaque }
  | { readonly kind: 'tool_change'; readonly add: readonly HubTool[] }
  | { readonly kind: 'config_change'; readonly effort?: string; readonly format?: HubFormat }
  /** Reference to a stored item; replaced before encoding. */
  | { readonly kind: 'ref'; readonly id: string }
  /** Assistant content that only its issuer understands. */
  | { readonly kind: 'opaque'; readonly issuer: Style; readonly raw: unknown };

export interface HubMessage {
  readonly kind: 'message';
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly HubPart[];
  readonly phase?: 'commentary' | 'final_answer';
  /** Cut off by the length limit. */
  readonly incomplete?: boolean;
}
export interface HubReasoningItem {
  readonly kind: 'reasoning';
  /** Visible text, one entry per summary part. */
  readonly summary: readonly string[];
  readonly opaque?: Opaque;
  readonly redacted?: boolean;
}
export interface HubToolCall extends ToolName {
  readonly kind: 'tool_call';
  readonly callId: string;
  readonly form: 'function' | 'custom' | 'builtin';
  /** Raw JSON text as the model wrote it (free text for custom tools); parsed only where a target needs an object. */
  readonly args: string;
  readonly signature?: Opaque;
}
export interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}
interface DeclaredTool extends ToolName {
  readonly namespaceDescription?: string;
  readonly description?: string;
}
export interface HubToolResult {
  readonly kind: 'tool_result';
  readonly callId: string;
  readonly name?: string;
  readonly form: 'function' | 'custom' | 'builtin';
  readonly parts: readonly HubPart[];
  readonly isError?: boolean;
}
/** A call of a tool that the provider ran, with its result: as the model saw it, in the form that dialects share. */
export interface HubServerCall {
  readonly kind: 'server_call';
  readonly id: string;
  readonly tool: ServerTool;
  readonly issuer: Style;
  readonly status: 'in_progress' | 'completed' | 'failed';
  /** Of a search. */
  readonly queries?: readonly string[];
  /** Pages that a search found or a fetch read. */
  readonly sources?: readonly { readonly url: string; readonly title: string }[];
  /** Of `code_exec`: the program or command. */
  readonly code?: string;
  /** Of `mcp`. A listing of the server's tools has no name. */
  readonly mcp?: { readonly server: string; readonly name?: string; readonly args: string };
  /** Tools that a tool search found or an MCP server listed. */
  readonly found?: readonly FoundTool[];
  /** What the tool returned to the model, as text. */
  readonly output?: string;
  /** The result of `image_gen`. */
  readonly image?: HubImage;
  /** The items or blocks of the issuer. */
  readonly raw?: unknown;
  /** The same in a form that a client of another dialect carries; see `tools/hosted.ts`. */
  readonly opaque?: Opaque;
}
export interface FoundTool {
  readonly name: string;
  readonly description?: string;
  readonly schema?: JsonObject;
}

export type HubPart =
  | HubText
  | { readonly kind: 'refusal'; readonly text: string }
  | HubImage
  | { readonly kind: 'audio'; readonly source: MediaSource; readonly cache?: CacheBreakpoint }
  | { readonly kind: 'video'; readonly source: MediaSource; readonly cache?: CacheBreakpoint }
  | {
      readonly kind: 'file';
      readonly source: MediaSource;
      readonly title?: string;
      readonly context?: string;
      readonly citations?: boolean;
      readonly cache?: CacheBreakpoint;
    }
  | {
      readonly kind: 'search_result';
      readonly source: string;
      readonly title: string;
      readonly texts: readonly string[];
      readonly citations?: boolean;
      readonly cache?: CacheBreakpoint;
    }
  /** Structured output of a tool. */
  | { readonly kind: 'json'; readonly value: unknown };

export interface HubImage {
  readonly kind: 'image';
  readonly source: MediaSource;
  readonly detail?: string;
  readonly cache?: CacheBreakpoint;
  readonly signature?: Opaque;
}

export interface HubText {
  readonly kind: 'text';
  readonly text: string;
  readonly annotations?: readonly HubAnnotation[];
  readonly cache?: CacheBreakpoint;
  readonly signature?: Opaque;
}

export type MediaSource =
  | { readonly kind: 'base64'; readonly mime: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mime?: string }
  | { readonly kind: 'file_id'; readonly id: string; readonly issuer: Style }
  | { readonly kind: 'text'; readonly text: string };

/** The source of a span of text: a page, or a document of the request or of the provider's storage. */
export interface HubAnnotation {
  /** UTF-16 offsets into the text of the part. */
  readonly start?: number;
  readonly end?: number;
  /** Empty for a document. */
  readonly url: string;
  readonly title: string;
  readonly cited?: string;
  readonly document?: HubDocumentSpan;
}
export interface HubDocumentSpan {
  /** Position among the documents of the request. */
  readonly index?: number;
  readonly fileId?: string;
  /** Absent when the source names the document only. Pages count from 1, the others from 0; `to` is exclusive. */
  readonly span?: { readonly unit: 'char' | 'page' | 'block'; readonly from: number; readonly to: number };
}

/** Asks the provider to cache the prompt up to this part. */
export interface CacheBreakpoint {
  readonly long?: boolean;
}

/** A value that only its issuer can read, such as a thinking signature or encrypted reasoning. */
export interface Opaque {
  readonly issuer: Style;
  readonly kind: 'thinking' | 'redacted' | 'reasoning' | 'thought' | 'compaction' | 'summary' | 'hosted';
  /** The issuer's id of the item to which the value is bound. */
  readonly id?: string;
  /** Tag of the account family that issued it. It is client input: compare it, never select an account by it. */
  readonly account?: string;
  /** UTF-16 lengths of the summary parts, to split text again that was joined for a client. */
  readonly lengths?: readonly number[];
  /** The gateway's signature, in values that a client carries in an envelope. */
  readonly mac?: string;
  readonly data: string;
}

export type JsonObject = { readonly [name: string]: unknown };

export interface HubReply extends ReplyEnd {
  /** The upstream's id, unchanged. */
  readonly id: string;
  readonly model: string;
  readonly items: readonly HubItem[];
}

interface ReplyEnd {
  readonly stop: HubStop;
  readonly stopSequence?: string;
  /** The provider's explanation when it declined. */
  readonly refusal?: string;
  /** With which the provider continues a reply that stopped with `continuation`. */
  readonly continuationToken?: string;
  /** Members of the provider's reply that the hub has no form for, by name. */
  readonly omitted?: readonly string[];
  readonly usage: HubUsage;
}

/** What the replies of a client's dialect have a form for. The gateway names what else a provider returned. */
export interface ReplyForms {
  readonly style?: Style;
  hasHosted(call: HubServerCall): boolean;
  readonly hasImages: boolean;
  readonly hasAudio: boolean;
  /** Citations of documents; every dialect cites pages. */
  readonly citesDocuments: boolean;
  /** Citations hold the words that they cite. */
  readonly quotes: boolean;
}

export type HubStop =
  | 'end'
  | 'tool'
  | 'length'
  | 'stop_sequence'
  | 'context_full'
  | 'refusal'
  | 'filter'
  | 'pause'
  | 'compaction'
  | 'continuation'
  | 'malformed_call'
  | 'cancelled';

/** See `Usage`: the same type from the wire to the ledger. */
export type HubUsage = Usage;
export const NO_USAGE: HubUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };

/**
 * Decoders guarantee and encoders rely on: `start` comes first and once. `item` precedes
 * every event of its index; indices are dense from 0 in order of arrival, and several items
 * may be open. `item_end` comes once per item and equals its deltas. Every stream ends with
 * one `finish`, after all items have ended, or one `error`.
 */
export type HubEvent =
  | { readonly kind: 'start'; readonly id: string; readonly model: string; readonly usage?: HubUsage }
  /** Opens an item: kind, ids and names, no content. */
  | { readonly kind: 'item'; readonly index: number; readonly item: HubItem }
  | { readonly kind: 'text'; readonly index: number; readonly part: number; readonly text: string }
  | { readonly kind: 'refusal'; readonly index: number; readonly part: number; readonly text: string }
  | { readonly kind: 'think'; readonly index: number; readonly part: number; readonly text: string }
  | { readonly kind: 'args'; readonly index: number; readonly text: string }
  | { readonly kind: 'annotation'; readonly index: number; readonly part: number; readonly annotation: HubAnnotation }
  | { readonly kind: 'item_end'; readonly index: number; readonly item: HubItem }
  | { readonly kind: 'ping' }
  | ({ readonly kind: 'finish' } & ReplyEnd)
  | { readonly kind: 'error'; readonly error: HubError };

/** A failure with a code of the gateway's error catalogue; every dialect can encode each code. */
export interface HubError {
  readonly code: ErrorCode;
  readonly message: string;
  /** The upstream's status, only for faults of the request. */
  readonly status?: number;
  readonly param?: string;
  readonly retryAfterMs?: number;
}

/** The request has the computer tool: its calls are converted for a client of this dialect. */
export interface ComputerCalls {
  readonly client: ClientDialect;
  /** Calls of generate-content are calls of these functions, on a screen of this size. */
  readonly desktop?: {
    readonly functions: readonly string[];
    readonly screen: { readonly width: number; readonly height: number };
  };
}
