/**
 * The computer tool of messages and responses: the actions of one vocabulary in the other. Responses has lists of actions, messages one
 * action for each call. An action that the other side lacks becomes a screenshot, which changes nothing and shows what is.
 */
import { imageSize, MAX_IMAGE_HEAD } from '../../core/index.ts';
import type { UpstreamDialect } from '../../rules/index.ts';
import { reject } from '../errors/rejection.ts';
import type { HubEvent, HubItem, HubRequest, HubTool, HubToolCall, HubToolResult, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeList, maybeObject, maybeString, parseArgs } from '../wire/read.ts';

/** The name of the tool in messages, and of its calls in the hub. */
export const COMPUTER = 'computer';

type ComputerTool = HubTool & { readonly kind: 'server' };

export const computerToolOf = ({ tools }: Pick<HubRequest, 'tools'>): ComputerTool | undefined =>
  tools.find((tool): tool is ComputerTool => tool.kind === 'server' && tool.tool === 'computer');

/** A screen of usual size, until a screenshot shows the real one. */
const USUAL_SCREEN = { width: 1024, height: 768 };
/** Base64 characters that hold the head of a file. */
const HEAD_CHARS = Math.ceil(MAX_IMAGE_HEAD / 3) * 4;

/** As the client says, or as its newest screenshot has it: coordinates are pixels of what the model sees. */
export function screenOf({ items }: HubRequest, { options: { screen } }: ComputerTool): typeof USUAL_SCREEN {
  if (screen?.width !== undefined && screen.height !== undefined) return { width: screen.width, height: screen.height };
  const shot = items.findLast((item) => item.kind === 'tool_result' && screenshotOf(item) !== undefined);
  const source = shot?.kind === 'tool_result' ? screenshotOf(shot)?.source : undefined;
  const size = source?.kind === 'base64' && imageSize(Buffer.from(source.data.slice(0, HEAD_CHARS), 'base64'));
  return size ? { width: size.width, height: size.height } : USUAL_SCREEN;
}

const screenshotOf = ({ parts }: HubToolResult) => parts.find((part) => part.kind === 'image');

// ---------------------------------------------------------------- requests

/** The history in the vocabulary of the provider. Requests without the tool, and those of its own dialect, stay as they are. */
export function withComputerCalls(request: HubRequest, dialect: UpstreamDialect): HubRequest {
  if (!computerToolOf(request) || request.dialect === dialect) return request;
  if (dialect === 'messages') return { ...request, items: splitCalls(request.items) };
  return dialect === 'responses' ? { ...request, items: withScreenshots(request.items) } : request;
}

const isComputerCall = (item: HubItem): item is HubToolCall => item.kind === 'tool_call' && item.name === COMPUTER;

/** For messages: a call for each action. The last one gets the screenshot, the others have nothing to show. */
function splitCalls(items: readonly HubItem[]): HubItem[] {
  return items.flatMap((item): HubItem[] => {
    if (!isComputerCall(item)) return [item];
    const calls = messagesCalls(item);
    const done = calls.slice(0, -1).map(
      ({ callId }): HubItem => ({
        kind: 'tool_result',
        callId,
        form: 'builtin',
        parts: [{ kind: 'text', text: 'Done.' }],
      }),
    );
    return [...calls, ...done];
  });
}

/** For responses, where every call ends with a screenshot: a result without one shows the newest one before it. */
function withScreenshots(items: readonly HubItem[]): HubItem[] {
  const calls = new Set<string>();
  let newest: HubToolResult['parts'][number] | undefined;
  return items.map((item): HubItem => {
    if (isComputerCall(item)) {
      calls.add(item.callId);
      return responsesCall(item);
    }
    if (item.kind !== 'tool_result' || !calls.has(item.callId)) return item;
    newest = screenshotOf(item) ?? newest;
    if (!newest) reject('conversation', 'The first result of the computer tool needs a screenshot with this model.');
    return { ...item, form: 'builtin', parts: [newest] };
  });
}

// ---------------------------------------------------------------- replies

/** The calls of a reply in the vocabulary of the client. */
export const clientCalls = (item: HubItem, client: HubRequest['dialect']): HubItem[] => {
  if (!isComputerCall(item)) return [item];
  return client === 'messages' ? messagesCalls(item) : [responsesCall(item)];
};

/** Messages has no place for what its user should confirm. */
export const omittedFromCall = (item: HubItem, client: HubRequest['dialect']): string[] =>
  client === 'messages' && isComputerCall(item) && item.args.includes(`"${CHECKS}"`) ? [CHECKS] : [];
const CHECKS = 'pending_safety_checks';

/** The same for a stream, where a call is complete only at its end. */
export class ComputerEvents {
  readonly #client: HubRequest['dialect'];
  readonly #open = new Set<number>();
  readonly #omitted = new Set<string>();

  constructor(client: HubRequest['dialect']) {
    this.#client = client;
  }

  push(event: HubEvent): readonly HubEvent[] {
    if (event.kind === 'item' && isComputerCall(event.item)) {
      this.#open.add(event.index);
      return [{ ...event, item: { ...event.item, form: this.#client === 'messages' ? 'function' : 'builtin' } }];
    }
    if (event.kind === 'finish' && this.#omitted.size > 0)
      return [{ ...event, omitted: [...(event.omitted ?? []), ...this.#omitted] }];
    if (event.kind === 'args' && this.#open.has(event.index)) return [];
    if (event.kind !== 'item_end' || !this.#open.has(event.index)) return [event];
    for (const name of omittedFromCall(event.item, this.#client)) this.#omitted.add(name);
    return clientCalls(event.item, this.#client).flatMap((item, n): HubEvent[] => {
      // Between this item and the next one, which has the next whole number.
      const index = event.index + n / 1024;
      const args = item.kind === 'tool_call' ? item.args : '';
      const opening: HubEvent[] = n === 0 ? [] : [{ kind: 'item', index, item }];
      return [...opening, { kind: 'args', index, text: args }, { kind: 'item_end', index, item }];
    });
  }
}

// ---------------------------------------------------------------- calls

/** The arguments of calls in the hub are those of their issuer: a list of actions, or one action. */
const responsesCall = (call: HubToolCall): HubToolCall => {
  const args = parseArgs(call.args);
  const actions = Array.isArray(args.actions) ? args.actions : toResponses(args);
  return { ...call, form: 'builtin', args: JSON.stringify({ ...args, ...NO_MESSAGES_MEMBERS, actions }) };
};
/** Members of a messages action, which JSON leaves out when they are undefined. */
const NO_MESSAGES_MEMBERS = Object.fromEntries(
  [
    'action',
    'coordinate',
    'start_coordinate',
    'text',
    'duration',
    'scroll_direction',
    'scroll_amount',
    'repeat',
    'region',
  ].map((name) => [name, undefined]),
);

const messagesCalls = (call: HubToolCall): HubToolCall[] => {
  const args = parseArgs(call.args);
  const actions = Array.isArray(args.actions) ? args.actions.filter(isObject).map(toMessages) : [args];
  return (actions.length > 0 ? actions : [{ action: 'screenshot' }]).map((action, n, { length }) => ({
    ...call,
    form: 'function',
    // The last one keeps the id, because it gets the result.
    callId: n === length - 1 ? call.callId : `${call.callId}_${n}`,
    args: JSON.stringify(action),
  }));
};

// ---------------------------------------------------------------- vocabularies

/** Pixels of one step of a messages scroll. */
const STEP = 100;
/** Seconds that a wait without a length takes. */
const WAIT_S = 2;

const CLICKS: Readonly<Record<string, string>> = { left: 'left_click', right: 'right_click', wheel: 'middle_click' };
const BUTTONS: Readonly<Record<string, string>> = { left_click: 'left', right_click: 'right', middle_click: 'wheel' };
/** Keys that the two name differently: xdotool's, and those of responses. */
const KEYS: readonly (readonly [messages: string, responses: string])[] = [
  ...([
    ['Return', 'ENTER'],
    ['Escape', 'ESC'],
    ['BackSpace', 'BACKSPACE'],
    ['Delete', 'DELETE'],
    ['Tab', 'TAB'],
  ] as const),
  ...([
    ['Up', 'UP'],
    ['Down', 'DOWN'],
    ['Left', 'LEFT'],
    ['Right', 'RIGHT'],
    ['Home', 'HOME'],
    ['End', 'END'],
  ] as const),
  ...([
    ['Page_Up', 'PAGEUP'],
    ['Page_Down', 'PAGEDOWN'],
    ['space', 'SPACE'],
    ['super', 'META'],
  ] as const),
  ...([
    ['ctrl', 'CTRL'],
    ['alt', 'ALT'],
    ['shift', 'SHIFT'],
  ] as const),
];
const keyFor = (key: string): string =>
  KEYS.find(([, responses]) => responses === key.toUpperCase())?.[0] ?? (key.length === 1 ? key.toLowerCase() : key);
const responsesKey = (key: string): string =>
  KEYS.find(([messages]) => messages.toLowerCase() === key.toLowerCase())?.[1] ?? key.toUpperCase();

const combination = (keys: unknown): string | undefined =>
  maybeList(keys)
    .filter((key) => typeof key === 'string')
    .map(keyFor)
    .join('+') || undefined;
const keysIn = (text: unknown): string[] | undefined =>
  maybeString(text)
    ?.split('+')
    .filter((key) => key !== '')
    .map(responsesKey);

const point = ({ x, y }: JsonObject): [number, number] => [Math.round(Number(x) || 0), Math.round(Number(y) || 0)];
const xy = (value: unknown): { x: number; y: number } | undefined => {
  const [x, y] = maybeList(value);
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
};

function toMessages(action: JsonObject): JsonObject {
  const text = combination(action.keys);
  const at = { coordinate: point(action), text };
  switch (action.type) {
    case 'click':
      if (action.button === 'back' || action.button === 'forward')
        return { action: 'key', text: action.button === 'back' ? 'alt+Left' : 'alt+Right' };
      return compact({ action: CLICKS[String(action.button)] ?? 'left_click', ...at });
    case 'double_click':
      return compact({ action: 'double_click', ...at });
    case 'move':
      return { action: 'mouse_move', coordinate: point(action) };
    case 'drag': {
      const path = maybeList(action.path).map(maybeObject);
      return {
        action: 'left_click_drag',
        start_coordinate: point(path[0] ?? {}),
        coordinate: point(path.at(-1) ?? {}),
      };
    }
    case 'keypress':
      return { action: 'key', text: text ?? '' };
    case 'type':
      return { action: 'type', text: maybeString(action.text) ?? '' };
    case 'scroll':
      return compact({
        action: 'scroll',
        ...at,
        ...scrollOf(Number(action.scroll_x) || 0, Number(action.scroll_y) || 0),
      });
    case 'wait':
      return { action: 'wait', duration: WAIT_S };
    default:
      return { action: 'screenshot' };
  }
}

function scrollOf(x: number, y: number): JsonObject {
  const isVertical = Math.abs(y) >= Math.abs(x);
  const scroll_direction = isVertical ? (y < 0 ? 'up' : 'down') : x < 0 ? 'left' : 'right';
  return { scroll_direction, scroll_amount: Math.max(1, Math.round(Math.abs(isVertical ? y : x) / STEP)) };
}

const SCREENSHOT: JsonObject = { type: 'screenshot' };

function toResponses({ action: name, coordinate, start_coordinate, text, ...rest }: JsonObject): JsonObject[] {
  const action = maybeString(name) ?? '';
  const at = xy(coordinate);
  const keys = keysIn(text) ?? null;
  if (action in BUTTONS) return at ? [{ type: 'click', button: BUTTONS[action], ...at, keys }] : [SCREENSHOT];
  switch (action) {
    case 'double_click':
      return at ? [{ type: 'double_click', ...at, keys }] : [SCREENSHOT];
    case 'triple_click':
      return at
        ? [
            { type: 'double_click', ...at, keys },
            { type: 'click', button: 'left', ...at, keys },
          ]
        : [SCREENSHOT];
    case 'mouse_move':
      return at ? [{ type: 'move', ...at }] : [SCREENSHOT];
    case 'left_click_drag': {
      const from = xy(start_coordinate);
      return at && from ? [{ type: 'drag', path: [from, at] }] : [SCREENSHOT];
    }
    case 'key':
    case 'hold_key':
      return [{ type: 'keypress', keys: keys ?? [] }];
    case 'type':
      return [{ type: 'type', text: maybeString(text) ?? '' }];
    case 'scroll': {
      const amount = (Number(rest.scroll_amount) || 1) * STEP;
      const [x, y] = DIRECTIONS[String(rest.scroll_direction)] ?? [0, 1];
      return at ? [{ type: 'scroll', ...at, scroll_x: x * amount, scroll_y: y * amount }] : [SCREENSHOT];
    }
    case 'wait':
      return [{ type: 'wait' }];
    default:
      return [SCREENSHOT];
  }
}
const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
};
