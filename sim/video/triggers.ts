/**
 * The trigger language: which misbehaviour a request, a header or a test asks for. Its form is that of the fault
 * language of the others.
 */
import { count, known, oneOf, wordsOf } from '../fault-words.ts';
import { ACTIONS, type Action } from './assets/actions.ts';
import { isRatio, isResolution, type Ratio, type Resolution } from './families.ts';
import {
  CALLBACK_MODES,
  type CallbackMode,
  IMAGE_FORMATS,
  type ImageFormat,
  URL_MODES,
  type UrlMode,
} from './settings.ts';

export const OPERATIONS = ['create', 'get', 'list', 'delete', 'download'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a fault can apply to: a call of the generation API, one action of the asset library, or all its actions. */
export type Target = Operation | Action | 'control';
const TARGETS: readonly Target[] = [...OPERATIONS, 'control', ...ACTIONS];

export const USAGE_MODES = ['missing', 'negative', 'zero', 'huge', 'text', 'fraction', 'unequal'] as const;
export type UsageMode = (typeof USAGE_MODES)[number];

/** What goes wrong with the response of one call. */
export interface CallFault {
  kind?: 'reset' | 'reset_mid' | 'eof_mid' | 'hang' | 'html' | 'truncated';
  /** Error status, or the status of the HTML page. */
  status?: number;
  /** Error code; its usual status applies unless `status` is given. */
  code?: string;
  /** Index of the content item that the error blames. */
  item?: number;
  delayMs?: number;
  /** Pause between pieces of the body. */
  dripMs?: number;
  /** The call takes effect although its response fails. */
  effective?: boolean;
  /** The call it applies to; without it, the call that carries the trigger. */
  on?: Target;
  /** Number of calls it applies to; without it, all. */
  times?: number;
}

/** How the life of one task differs from the usual one. */
export interface TaskPlan {
  failure?: string;
  failsIn?: 'queued' | 'running';
  usage?: UsageMode;
  usageAfterMs?: number;
  /** Per cent that reads of the running task report; without it none. */
  progress?: number;
  resolution?: Resolution;
  ratio?: Ratio;
  duration?: number;
  unknownStatus?: string;
  hidesUpdatedAt?: boolean;
  backwards?: 'running' | 'terminal';
  queuedMs?: number;
  runningMs?: number;
  stuck?: 'queued' | 'running' | 'processing';
  callbacks?: readonly CallbackMode[];
  urls?: UrlMode;
  lastFrame?: ImageFormat;
  fileBytes?: number;
  inputSeconds?: number;
}

/** How the life of one asset or group differs from the usual one. */
export interface AssetPlan extends Pick<TaskPlan, 'failure' | 'stuck'> {
  processingMs?: number;
  /** Gets that report `Processing`; the time plays no part then. */
  processingGets?: number;
  /** The asset or group disappears that long after its creation. */
  lifetimeMs?: number;
}

/** One trigger: a fault of calls, changes to the task or asset, or both. */
export interface Trigger {
  fault?: CallFault;
  plan: TaskPlan & AssetPlan;
}

type Word =
  | { fault: (value: string) => CallFault; plan?: never }
  | { plan: (value: string) => TaskPlan & AssetPlan; fault?: never };

/** All words; sim/README.md says what they do. */
export const TRIGGERS: Readonly<Record<string, Word>> = {
  status: { fault: (v) => ({ status: count(v) }) },
  error: { fault: (v) => ({ code: code(v) }) },
  sync_400: { fault: (v) => ({ status: 400, code: code(v) }) },
  item: { fault: (v) => ({ item: count(v) }) },
  reset: { fault: () => ({ kind: 'reset' }) },
  reset_mid: { fault: () => ({ kind: 'reset_mid', effective: true }) },
  eof_mid: { fault: () => ({ kind: 'eof_mid', effective: true }) },
  hang: { fault: () => ({ kind: 'hang' }) },
  html: { fault: () => ({ kind: 'html' }) },
  truncated: { fault: () => ({ kind: 'truncated', effective: true }) },
  slow: { fault: (v) => ({ delayMs: count(v), effective: true }) },
  drip: { fault: (v) => ({ dripMs: count(v), effective: true }) },
  created: { fault: () => ({ effective: true }) },
  on: { fault: (v) => ({ on: oneOf(TARGETS, v) }) },
  times: { fault: (v) => ({ times: count(v) }) },
  fail: { plan: (v) => ({ failure: code(v) }) },
  fail_in: { plan: (v) => ({ failsIn: oneOf(['queued', 'running'], v) }) },
  usage: { plan: (v) => ({ usage: oneOf(USAGE_MODES, v) }) },
  usage_after: { plan: (v) => ({ usageAfterMs: count(v) }) },
  progress: { plan: (v) => ({ progress: count(v) }) },
  resolution: { plan: (v) => ({ resolution: known(isResolution, v, 'a known value') }) },
  ratio: { plan: (v) => ({ ratio: known(isRatio, v, 'a known value') }) },
  duration: { plan: (v) => ({ duration: count(v) }) },
  unknown_status: { plan: (v) => ({ unknownStatus: v || 'processing' }) },
  no_updated_at: { plan: () => ({ hidesUpdatedAt: true }) },
  backwards: { plan: (v) => ({ backwards: oneOf(['running', 'terminal'], v || 'running') }) },
  queued: { plan: (v) => ({ queuedMs: count(v) }) },
  running: { plan: (v) => ({ runningMs: count(v) }) },
  stuck: { plan: (v) => ({ stuck: oneOf(['queued', 'running', 'processing'], v) }) },
  callbacks: { plan: (v) => ({ callbacks: v.split('+').map((mode) => oneOf(CALLBACK_MODES, mode)) }) },
  urls: { plan: (v) => ({ urls: oneOf(URL_MODES, v) }) },
  last_frame: { plan: (v) => ({ lastFrame: oneOf(IMAGE_FORMATS, v) }) },
  file_bytes: { plan: (v) => ({ fileBytes: count(v) }) },
  input_seconds: { plan: (v) => ({ inputSeconds: count(v) }) },
  processing: { plan: (v) => ({ processingMs: count(v) }) },
  gets: { plan: (v) => ({ processingGets: count(v) }) },
  lifetime: { plan: (v) => ({ lifetimeMs: count(v) }) },
};

/** Parses text such as `fault=500; created` or `on=get; error=ServerOverloaded; times=2`. Throws on an unknown word. */
export function parseTrigger(spec: string): Trigger {
  const trigger: Trigger = { plan: {} };
  for (const [given, value] of wordsOf(spec)) {
    const { fault, plan } = find(given.replaceAll('-', '_'), value);
    if (fault) trigger.fault = { ...trigger.fault, ...fault };
    Object.assign(trigger.plan, plan);
  }
  if (trigger.fault && !hasEffect(trigger.fault)) throw new RangeError(`"${spec}" does not name a fault`);
  return trigger;
}

/** The triggers in a prompt, each written as `[sim:...]`. */
export function promptTriggers(prompt: string): Trigger[] {
  return [...prompt.matchAll(/\[sim:([^\]]*)\]/g)].map(([, spec = '']) => parseTrigger(spec));
}

/** Splits `model@fault=500` into the model and its triggers. Another `@` belongs to the name. */
export function splitModel(name: string): { model: string; triggers: Trigger[] } {
  const [, model = name, spec = ''] = /^([^@]*)@(.*)$/s.exec(name) ?? [];
  const first = (spec.split(/[=;,&\s]/, 1)[0] ?? '').replaceAll('-', '_');
  const isTrigger = first === 'fault' || Object.hasOwn(TRIGGERS, first);
  return isTrigger ? { model, triggers: [parseTrigger(spec)] } : { model: name, triggers: [] };
}

/** False for a fault that only has conditions, such as `on=get`. */
const hasEffect = ({ kind, status, code, delayMs, dripMs }: CallFault): boolean =>
  [kind, status, code, delayMs, dripMs].some((effect) => effect !== undefined);

function find(name: string, value: string): Partial<Trigger> {
  if (name === 'fault') return /^\d+$/.test(value) ? { fault: { status: count(value) } } : find(value, '');
  const word = Object.hasOwn(TRIGGERS, name) ? TRIGGERS[name] : undefined;
  if (!word) throw new RangeError(`unknown trigger "${name}"; known: ${Object.keys(TRIGGERS).join(', ')}`);
  return word.fault ? { fault: word.fault(value) } : { plan: word.plan(value) };
}

function code(value: string): string {
  if (!/^[A-Z][\w.]*$/.test(value)) throw new RangeError(`"${value}" is not an error code`);
  return value;
}
