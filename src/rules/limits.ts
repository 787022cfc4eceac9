/**
 * Limits of G 8 and V 8 that belong to no other table, and limits that the gateway sets itself, each with its reason.
 */
import type { Style } from './groups.ts';

const MIB = 2 ** 20;

/**
 * Largest body after decoding, by kind of operation. "MB" in the documents is 2^20 bytes. `items`: of a conversation, of
 * which a request can hold no more.
 */
export const BODY_BYTES = { text: 32 * MIB, image: 64 * MIB, video: 64 * MIB, items: 8 * MIB, small: MIB } as const;
export type BodyClass = keyof typeof BODY_BYTES;

/** Deeper or larger JSON is rejected before it is parsed, because parsing it would block the event loop. */
export const JSON_LIMITS = {
  /**
   * `JSON.stringify` overflows the stack at about 5,000 levels of a body with exact values; tool schemas stay below 60.
   */
  depth: 128,
  /** Commas, colons and brackets. The largest real body is an embeddings request with 300,000 token numbers. */
  tokens: 1_000_000,
  /**
   * Numbers and objects of one body that are kept exactly; each costs about 5 us. A client's body with more is
   * rejected.
   */
  exactValues: 50_000,
  /** Texts of a batch of embeddings; providers take 100. */
  elements: new Map([['requests', 1_000]]),
  /** A shorter body cannot hold enough of them to matter. */
  harmlessChars: 64 * 1024,
} as const;

/**
 * Each entry costs time, whatever its size. The largest recorded requests have 12 turns, 29 parts, 21 tools, 593
 * values; agents come to hundreds of turns and tools.
 */
export const REQUEST_LIMITS = {
  turns: 10_000,
  parts: 20_000,
  tools: 2_000,
  /** In the envelopes of the gateway, whose signatures are checked. */
  opaque: 5_000,
  /** Of the body itself; no dialect has more than 50, and each unknown one is named in the response. */
  members: 1_000,
  values: 100_000,
  /**
   * Values of a body, and boxes, frames and samples of its media, 0.2 us each. An hour of MP3 has 138,000 frames;
   * embeddings 1,000,000 values, read twice.
   */
  steps: 2_500_000,
} as const;

/**
 * The same of a provider's reply, converted in one turn: 5,000 items take 35 ms. The largest recorded ones have some
 * hundred.
 */
export const REPLY_LIMITS = {
  /** Items, and parts of messages and thoughts. */
  items: 5_000,
  /** Commas, colons and brackets of a reply in one piece, counted above this size. */
  values: 100_000,
  countedBytes: 256 * 1024,
  /** Of all but pictures and sound; a million tokens. Each MiB takes 12 ms, because text is copied and counted. */
  textBytes: 4 * MIB,
} as const;

/** The members that hold turns and tools, in every dialect. */
const TURN_MEMBERS = ['messages', 'input', 'contents'] as const;
const TOOL_LISTS = ['tools', 'functions'] as const;

/** The limits of a request for a reply. Embeddings have those of `JSON_LIMITS`: their lists are numbers. */
export const REQUEST_JSON_LIMITS = {
  depth: JSON_LIMITS.depth,
  tokens: REQUEST_LIMITS.values,
  members: REQUEST_LIMITS.members,
  elements: new Map<string, number>([
    ...TURN_MEMBERS.map((name) => [name, REQUEST_LIMITS.turns] as const),
    ...TOOL_LISTS.map((name) => [name, REQUEST_LIMITS.tools] as const),
  ]),
  innerElements: REQUEST_LIMITS.parts,
  marked: new Set<string>(TURN_MEMBERS),
} as const;

/** Of bodies to operators' and the console's APIs; the largest are lists of hundreds of names. */
export const OPERATOR_JSON_LIMITS = { depth: JSON_LIMITS.depth, tokens: 10_000 } as const;
/** Of a configuration as JSON, which has a MiB. */
export const CONFIG_JSON_LIMITS = { depth: JSON_LIMITS.depth, tokens: 60_000 } as const;

/**
 * Read on the event loop: texts of agents are long with few values, 2 ms native and 6 ms converted; a thread costs 1 to
 * 3 ms of copies. `steps`: with media.
 */
export const LIGHT_BODY = { bytes: MIB, limits: { ...REQUEST_JSON_LIMITS, tokens: 5_000 }, steps: 25_000 } as const;

/**
 * Prompts that are kept, so that the next turn of a conversation is not read again from its beginning. `ofBodies`: the
 * part of the memory for bodies.
 */
export const KEPT_PROMPTS = {
  minBytes: 32 * 1024,
  maxBytes: 2 * MIB,
  perKey: 8,
  ms: 180_000,
  ofBodies: 1 / 8,
} as const;

/**
 * Reading what a call cost: reads of a user per minute, and the pauses between looks. A charge is stored within a
 * second.
 */
export const CHARGE_READS = { perMinute: 600, pausesMs: [100, 200, 400, 800, 1_500] } as const;

/**
 * A body may expand to `bytes` in any case, beyond that to `ratio` times its compressed size. Text expands 3 to 20
 * times; only a repeated character exceeds this.
 */
export const DECOMPRESSION = { bytes: MIB, ratio: 64 } as const;

/**
 * Memory of a large body by its way, as a multiple of its bytes. Forwarded: with another model name. Converted: text,
 * values, encoded.
 */
export const WORKING_COPIES = { forwarded: 2, converted: 4 } as const;
export type BodyUse = keyof typeof WORKING_COPIES;

/** The same of kept content that goes into a request: sealed here and in the thread, the texts, the list, the body, and that converted. */
export const SEALED_COPIES = 6;

/** Memory for large bodies with their working copies: a part of what the container may use, where it has a limit. */
export const BODY_MEMORY = { ofContainer: 0.3, unlimited: 512 * MIB, min: 128 * MIB } as const;

/** Memory of a process that serves requests, without large bodies: its heap, its thread, caches and garbage. */
export const PROCESS_BYTES = 320 * MIB;

/** Multipart bodies (G 4.8): sixteen images, a mask and every option fit; prompts are the longest text fields. */
export const MULTIPART = { parts: 40, headerBytes: 8 * 1024, fieldBytes: 256 * 1024 } as const;

/** Bytes of all uploads on disk together. */
export const SPOOL_BYTES = 4 * 2 ** 30;

/** Timeouts of an upstream call in milliseconds. Reasoning models send nothing for minutes before a unary response. */
export interface Timeouts {
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly total: number;
}
const HOUR = 3_600_000;
export const TIMEOUTS = {
  unary: { connect: 5_000, firstByte: 600_000, idle: 300_000, total: HOUR },
  stream: { connect: 5_000, firstByte: 120_000, idle: 300_000, total: HOUR },
  /** 4K images take 3-5 minutes (G 4.9 r4). */
  image: { connect: 5_000, firstByte: 600_000, idle: 600_000, total: HOUR },
  count: { connect: 5_000, firstByte: 30_000, idle: 30_000, total: 60_000 },
  /** Creating a video task: the provider reads and checks up to 64 MB before it responds. */
  videoCreate: { connect: 5_000, firstByte: 60_000, idle: 30_000, total: 120_000 },
  /** Results: the client sets the pace, so that only the silence of the upstream is limited closely. */
  videoResult: { connect: 5_000, firstByte: 20_000, idle: 30_000, total: HOUR },
  /** Reading, listing and cancelling video tasks. */
  videoQuery: { connect: 5_000, firstByte: 15_000, idle: 15_000, total: 30_000 },
  /** The asset library: a caller waits for the response. */
  assets: { connect: 5_000, firstByte: 15_000, idle: 15_000, total: 30_000 },
  /** The OpenID provider: a person waits at the sign-in page. */
  oidc: { connect: 5_000, firstByte: 10_000, idle: 10_000, total: 15_000 },
} as const satisfies Record<string, Timeouts>;
export type TimeoutsName = keyof typeof TIMEOUTS;

/** Names of the output limit by operation. Other names mean nothing to the provider, so that they bound nothing. */
export const OUTPUT_LIMITS: Readonly<Record<string, readonly string[]>> = {
  'chat.create': ['max_completion_tokens', 'max_tokens'],
  'messages.create': ['max_tokens'],
  'responses.create': ['max_output_tokens'],
};

/**
 * Names of the output limit at other servers: llama.cpp, Ollama, Transformers. Which server an address leads to is not
 * certain, so the largest counts.
 */
export const FOREIGN_LIMITS: Readonly<Record<string, readonly string[]>> = {
  'chat.create': ['n_predict', 'num_predict', 'max_new_tokens', 'max_output_tokens'],
};

/** Models that one request may name beside its own. Each is resolved, and reserved for. */
export const MAX_NAMED_MODELS = 16;

/** Output tokens of the largest picture of a generate-content reply: 1,290, and 2,000 for one of 4K. */
export const PICTURE_TOKENS = 2_600;

/** Members that multiply the output: it is billed for each choice, also for those that `best_of` discards. */
export const CHOICE_COUNTS: Readonly<Record<string, readonly string[]>> = { 'chat.create': ['n', 'best_of'] };

/** The same members of generate-content, in its two spellings, inside its configuration. */
export const GENERATION_LIMITS = {
  config: ['generationConfig', 'generation_config'],
  output: ['maxOutputTokens', 'max_output_tokens'],
  choices: ['candidateCount', 'candidate_count'],
} as const;

/**
 * Members that ask for a reply in audio; without one a model writes none. In `config` of generate-content any name with
 * one of these words.
 */
export const AUDIO_REPLIES = { members: ['modalities', 'audio'], config: /modalities|speech|audio/i } as const;

/**
 * Reserved as the output of a request without a limit, where the model has none in the catalog. A longer one is charged
 * in full.
 */
export const DEFAULT_MAX_OUTPUT = 32_000;

/** The context of a model without one in the catalog: that of the largest common models of its style. */
export const DEFAULT_CONTEXT: Readonly<Record<Style, number>> = {
  messages: 200_000,
  responses: 400_000,
  'generate-content': 1_048_576,
};

/** What providers count for media, in tokens. */
export const MEDIA_TOKENS = {
  /** Documented is 32; chat models with audio count 10 to 25. */
  audioSecond: 32,
  /** Documented are 258, and 280 for the newest models, with their time stamps a little more. */
  videoFrame: 300,
  /**
   * Of a picture as large as models read it. Messages providers document about 1,600, and one token for so many pixels
   * below that.
   */
  image: 1_600,
  pixels: 750,
  /** The lowest count that a provider documents for a picture. */
  minImage: 85,
  /** Of a page of a document: documented are 1,500 to 3,000 for its text. */
  page: 2_000,
  /** Of a file of which nothing is known. */
  file: 4_000,
} as const;

/** Silence on a stream after which a heartbeat is sent; proxies close idle connections after 30-100 s. */
export const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this long is disconnected. */
export const STALLED_CLIENT_MS = 60_000;

/** Wait for usage after all content has arrived; some providers then neither report it nor close the stream. */
export const USAGE_GRACE_MS = 1_000;

/** The same where the client is gone: it pays for the report rather than an estimate. */
export const USAGE_WAIT_MS = 5_000;
/**
 * Content that a provider may send meanwhile: about a hundred events, so that a client that stops a long reply pays for
 * a moment more.
 */
export const READ_ON_BYTES = 16 * 1024;

/** Longest time until a change made on one replica is in force on all others. */
export const PROPAGATION_MS = 5_000;

/** Length of an API key. A shorter one could be guessed; a longer one is never valid. */
export const KEY_CHARS = { min: 20, max: 256 } as const;

/** User ids, chosen by operators. */
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const THREADS = {
  /** Each may take its heap. A process leaves a core to its event loop. */
  max: 4,
  /** CPU time of one job. The dearest requests within all other limits take a quarter of it on a slow core. */
  jobCpuMs: 2_000,
  /** A body of 32 MiB needs a tenth of this. The thread of a body that needs more ends, and the process goes on. */
  heapMb: 512,
  /** Most of what a job allocates is garbage at its end. */
  youngHeapMb: 32,
  /** Jobs that may wait. Most take a few milliseconds; the memory of large bodies has a limit of its own. */
  maxWaiting: 512,
  maxWaitingOfUser: 128,
} as const;
