/** The actions of the computer tool in messages, where a call is one action, and in responses, where it is a list. */
import type { JsonObject } from '../hub/types.ts';
import { compact, maybeList, maybeObject, maybeString, tableOf } from '../wire/read.ts';

/** The name of the tool in messages, and of its calls in the hub. */
export const COMPUTER = 'computer';
/** What the user should confirm before the client acts, as responses has it. */
export const CHECKS = 'pending_safety_checks';

/** Pixels of one step of a messages scroll. */
export const STEP = 100;
/** Seconds that a wait without a length takes. */
const WAIT_S = 2;

const CLICKS = tableOf({ left: 'left_click', right: 'right_click', wheel: 'middle_click' });
const BUTTONS = tableOf({ left_click: 'left', right_click: 'right', middle_click: 'wheel' });
/** Keys that the two name differently: xdotool's, and those of responses. */
const KEYS = Object.entries({
  Return: 'ENTER',
  Escape: 'ESC',
  BackSpace: 'BACKSPACE',
  Delete: 'DELETE',
  Tab: 'TAB',
  Up: 'UP',
  Down: 'DOWN',
  Left: 'LEFT',
  Right: 'RIGHT',
  Home: 'HOME',
  End: 'END',
  Page_Up: 'PAGEUP',
  Page_Down: 'PAGEDOWN',
  space: 'SPACE',
  super: 'META',
  ctrl: 'CTRL',
  alt: 'ALT',
  shift: 'SHIFT',
});
const keyFor = (key: string): string => {
  const name = key
    .toUpperCase()
    .replace(/^ARROW/, '')
    .replace('CONTROL', 'CTRL');
  return KEYS.find(([, responses]) => responses === name)?.[0] ?? (key.length === 1 ? key.toLowerCase() : key);
};
const responsesKey = (key: string): string =>
  KEYS.find(([messages]) => messages.toLowerCase() === key.toLowerCase())?.[1] ?? key.toUpperCase();

export const combination = (keys: unknown): string | undefined =>
  maybeList(keys)
    .filter((key) => typeof key === 'string')
    .map(keyFor)
    .join('+') || undefined;
export const keysIn = (text: unknown): string[] | undefined =>
  maybeString(text)
    ?.split('+')
    .filter((key) => key !== '')
    .map(responsesKey);

export const point = ({ x, y }: JsonObject): [number, number] => [
  Math.round(Number(x) || 0),
  Math.round(Number(y) || 0),
];
export const xy = (value: unknown): { x: number; y: number } | undefined => {
  const [x, y] = maybeList(value);
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
};

export function toMessages(action: JsonObject): JsonObject {
  const text = combination(action.keys);
  const at = { coordinate: point(action), text };
  switch (action.type) {
    case 'click':
      if (action.button === 'back' || action.button === 'forward')
        return { action: 'key', text: action.button === 'back' ? 'alt+Left' : 'alt+Right' };
      return compact({ action: CLICKS.get(String(action.button)) ?? 'left_click', ...at });
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
  const pixels = isVertical ? y : x;
  const [backward, forward] = isVertical ? ['up', 'down'] : ['left', 'right'];
  return {
    scroll_direction: pixels < 0 ? backward : forward,
    scroll_amount: Math.max(1, Math.round(Math.abs(pixels) / STEP)),
  };
}

const SCREENSHOT: JsonObject = { type: 'screenshot' };
const NEED_PLACE: readonly string[] = ['double_click', 'triple_click', 'mouse_move', 'left_click_drag', 'scroll'];

export function toResponses({ action: name, coordinate, start_coordinate, text, ...rest }: JsonObject): JsonObject[] {
  const action = maybeString(name) ?? '';
  const at = xy(coordinate);
  const keys = keysIn(text) ?? null;
  const button = BUTTONS.get(action);
  if (!at && (button || NEED_PLACE.includes(action))) return [SCREENSHOT];
  if (button) return [{ type: 'click', button, ...at, keys }];
  switch (action) {
    case 'double_click':
      return [{ type: 'double_click', ...at, keys }];
    case 'triple_click':
      return [
        { type: 'double_click', ...at, keys },
        { type: 'click', button: 'left', ...at, keys },
      ];
    case 'mouse_move':
      return [{ type: 'move', ...at }];
    case 'left_click_drag': {
      const from = xy(start_coordinate);
      return from ? [{ type: 'drag', path: [from, at] }] : [SCREENSHOT];
    }
    case 'key':
    case 'hold_key':
      return [{ type: 'keypress', keys: keys ?? [] }];
    case 'type':
      return [{ type: 'type', text: maybeString(text) ?? '' }];
    case 'scroll': {
      const amount = (Number(rest.scroll_amount) || 1) * STEP;
      const [x, y] = DIRECTIONS.get(String(rest.scroll_direction)) ?? [0, 1];
      return [{ type: 'scroll', ...at, scroll_x: x * amount, scroll_y: y * amount }];
    }
    case 'wait':
      return [{ type: 'wait' }];
    default:
      return [SCREENSHOT];
  }
}
const DIRECTIONS = tableOf<readonly [x: number, y: number]>({
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
});
