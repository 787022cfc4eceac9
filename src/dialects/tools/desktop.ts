/**
 * The computer tool of generate-content: functions that the provider
 * defines, one for each action, with coordinates from 0 to 999.
 */
import type { ComputerCalls, HubRequest, HubToolCall, JsonObject } from '../hub/types.ts';
import { compact, maybeObject, maybeString, parseArgs } from '../wire/read.ts';
import { CHECKS, COMPUTER, combination, keysIn, point, STEP, xy } from './computer-actions.ts';

type Screen = NonNullable<ComputerCalls['desktop']>['screen'];

/** Coordinates of the provider go from 0 to one less, on any screen. */
const GRID = 1_000;
/** Functions of its desktop that have a place, and their actions in messages. */
const AT: Readonly<Record<string, string>> = {
  click: 'left_click',
  move: 'mouse_move',
  double_click: 'double_click',
  triple_click: 'triple_click',
  middle_click: 'middle_click',
  right_click: 'right_click',
};
const DESKTOP: readonly string[] = [
  ...Object.keys(AT),
  'scroll',
  'drag_and_drop',
  'type',
  'press_key',
  'hotkey',
  'wait',
  'take_screenshot',
];
/** Without a counterpart in one of the others, so that the model is not offered them. */
const EXCLUDED = ['mouse_down', 'mouse_up', 'key_down', 'key_up'];

/** Functions of the client keep their names. */
const isTaken = ({ tools }: HubRequest, name: string): boolean =>
  tools.some((tool) => tool.kind !== 'server' && tool.name === name);
export const desktopFunctions = (request: HubRequest): string[] => DESKTOP.filter((name) => !isTaken(request, name));

export const desktopTool = (request: HubRequest): JsonObject => ({
  environment: 'ENVIRONMENT_DESKTOP',
  excludedPredefinedFunctions: [...EXCLUDED, ...DESKTOP.filter((name) => isTaken(request, name))],
});

/** A call of the desktop as one of messages. */
export function ownCall(call: HubToolCall, { width, height }: Screen): HubToolCall {
  const args = parseArgs(call.args);
  const at = (x: unknown, y: unknown) =>
    typeof x === 'number' && typeof y === 'number'
      ? point({ x: (x / GRID) * width, y: (y / GRID) * height })
      : undefined;
  const { decision, explanation: message } = maybeObject(args.safety_decision);
  const isSafe = decision === undefined || decision === 'regular' || decision === 'allowed';
  const checks = isSafe ? undefined : [{ id: call.callId, code: decision, message }];
  const action = compact(messagesAction(call.name, args, at));
  const known = call.name in AT && !action.coordinate ? { action: 'screenshot' } : action;
  return { ...call, name: COMPUTER, args: JSON.stringify({ ...known, [CHECKS]: checks }) };
}

function messagesAction(name: string, args: JsonObject, at: (x: unknown, y: unknown) => unknown): JsonObject {
  const coordinate = at(args.x, args.y);
  switch (name) {
    case 'scroll': {
      const pixels = Number(args.magnitude_in_pixels) || 3 * STEP;
      const scroll_amount = Math.max(1, Math.round(pixels / STEP));
      return { action: 'scroll', coordinate, scroll_direction: maybeString(args.direction) ?? 'down', scroll_amount };
    }
    case 'drag_and_drop': {
      const start_coordinate = at(args.start_x, args.start_y);
      return { action: 'left_click_drag', start_coordinate, coordinate: at(args.end_x, args.end_y) };
    }
    case 'type':
      return { action: 'type', text: `${maybeString(args.text) ?? ''}${args.press_enter === true ? '\n' : ''}` };
    case 'press_key':
    case 'hotkey':
      return { action: 'key', text: combination(args.keys ?? [args.key]) ?? '' };
    case 'wait':
      return { action: 'wait', duration: Number(args.seconds) || 1 };
    default:
      return { action: AT[name] ?? 'screenshot', coordinate };
  }
}

/** A call of messages as one of the desktop. */
export function desktopCall(item: HubToolCall, { width, height }: Screen): HubToolCall {
  const { action, coordinate, start_coordinate, text, ...rest } = parseArgs(item.args);
  const grid = (pixels: number, size: number): number =>
    Math.min(GRID - 1, Math.max(0, Math.round((pixels / size) * GRID)));
  const on = (place: unknown) => {
    const found = xy(place);
    return found && { x: grid(found.x, width), y: grid(found.y, height) };
  };
  const [at, from] = [on(coordinate), on(start_coordinate)];
  const call = (name: string, args: JsonObject): HubToolCall => ({ ...item, name, args: JSON.stringify(args) });
  const placed = Object.keys(AT).find((name) => AT[name] === action);
  if (placed && at) return call(placed, at);
  if (action === 'scroll' && at) {
    const magnitude_in_pixels = Math.min(GRID - 1, (Number(rest.scroll_amount) || 1) * STEP);
    return call('scroll', { ...at, direction: rest.scroll_direction, magnitude_in_pixels });
  }
  if (action === 'left_click_drag' && at && from)
    return call('drag_and_drop', { start_x: from.x, start_y: from.y, end_x: at.x, end_y: at.y });
  if (action === 'type') return call('type', { text });
  if (action === 'key' || action === 'hold_key')
    return call('hotkey', { keys: keysIn(text)?.map((key) => key.toLowerCase()) ?? [] });
  return action === 'wait' ? call('wait', { seconds: Number(rest.duration) || 1 }) : call('take_screenshot', {});
}
