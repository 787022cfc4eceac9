/**
 * The computer tool on converted paths: calls of one dialect's vocabulary in another's. An action that
 * the other side lacks becomes a screenshot, which changes nothing and shows what is.
 */
import type { UpstreamDialect } from '../../rules/index.ts';
import { reject } from '../errors/rejection.ts';
import { findHosted } from '../hub/effective-request.ts';
import type * as hub from '../hub/types.ts';
import { sizeOfImage } from '../wire/image-format.ts';
import { isObject, parseArgs } from '../wire/read.ts';
import { CHECKS, COMPUTER, toMessages, toResponses } from './computer-actions.ts';
import { desktopCall, desktopFunctions, ownCall } from './desktop.ts';

export const computerToolOf = ({ tools }: Pick<hub.HubRequest, 'tools'>): hub.HubServerTool | undefined =>
  findHosted(tools, 'computer');

/** A screen of usual size, until a screenshot shows the real one. */
const USUAL_SCREEN = { width: 1024, height: 768 };

/** As the client says, or as its newest screenshot has it: coordinates are pixels of what the model sees. */
export function screenOf({ items }: hub.HubRequest, { options: { screen } }: hub.HubServerTool): typeof USUAL_SCREEN {
  if (screen?.width !== undefined && screen.height !== undefined) return { width: screen.width, height: screen.height };
  const shot = items.findLast((item) => item.kind === 'tool_result' && screenshotOf(item) !== undefined);
  const source = shot?.kind === 'tool_result' ? screenshotOf(shot)?.source : undefined;
  const size = source?.kind === 'base64' && sizeOfImage(source.data);
  return size ? { width: size.width, height: size.height } : USUAL_SCREEN;
}

const screenshotOf = ({ parts }: hub.HubToolResult) => parts.find((part) => part.kind === 'image');

// ---------------------------------------------------------------- requests

/**
 * The history in the vocabulary of the provider. Requests without the
 * tool, and those of its own dialect, stay as they are.
 */
export function withComputerCalls(request: hub.HubRequest, dialect: UpstreamDialect): hub.HubRequest {
  const tool = computerToolOf(request);
  if (!tool || request.dialect === dialect) return request;
  if (dialect === 'responses') return { ...request, items: withScreenshots(request.items) };
  const items = splitCalls(request.items);
  const screen = dialect === 'generate' ? screenOf(request, tool) : undefined;
  if (!screen) return { ...request, items };
  return { ...request, items: items.map((item) => (isComputerCall(item) ? desktopCall(item, screen) : item)) };
}

const isComputerCall = (item: hub.HubItem): item is hub.HubToolCall =>
  item.kind === 'tool_call' && item.name === COMPUTER;

/** For messages: a call for each action. The last one gets the screenshot, the others have nothing to show. */
function splitCalls(items: readonly hub.HubItem[]): hub.HubItem[] {
  return items.flatMap((item): hub.HubItem[] => {
    if (!isComputerCall(item)) return [item];
    const calls = messagesCalls(item);
    const done = calls.slice(0, -1).map(
      ({ callId }): hub.HubItem => ({
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
function withScreenshots(items: readonly hub.HubItem[]): hub.HubItem[] {
  const calls = new Set<string>();
  let newest: hub.HubToolResult['parts'][number] | undefined;
  return items.map((item): hub.HubItem => {
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

/** What makes calls of the tool out of the provider's; undefined where the request has no such tool to convert. */
export function computerCallsOf(request: hub.HubRequest, dialect: UpstreamDialect): hub.ComputerCalls | undefined {
  const tool = computerToolOf(request);
  if (!tool || request.dialect === dialect) return undefined;
  const desktop = dialect === 'generate' && { functions: desktopFunctions(request), screen: screenOf(request, tool) };
  return { client: request.dialect, ...(desktop && { desktop }) };
}

function computerCall(item: hub.HubItem, { desktop }: hub.ComputerCalls): hub.HubToolCall | undefined {
  if (!desktop) return isComputerCall(item) ? item : undefined;
  return item.kind === 'tool_call' && desktop.functions.includes(item.name) ? ownCall(item, desktop.screen) : undefined;
}

/** The calls of a reply in the vocabulary of the client. */
export const clientCalls = (item: hub.HubItem, calls: hub.ComputerCalls): hub.HubItem[] => {
  const call = computerCall(item, calls);
  if (!call) return [item];
  return calls.client === 'messages' ? messagesCalls(call) : [responsesCall(call)];
};

/** Messages has no place for what its user should confirm, and neither has one for the purpose of an action. */
export function omittedFromCall(item: hub.HubItem, calls: hub.ComputerCalls): string[] {
  const { args } = computerCall(item, calls) ?? {};
  if (args === undefined || item.kind !== 'tool_call') return [];
  const omitted: string[] = [];
  if (calls.client === 'messages' && args.includes(`"${CHECKS}"`)) omitted.push(CHECKS);
  if (calls.desktop && item.args.includes('"intent"')) omitted.push('intent');
  return omitted;
}

/** The same for a stream, where a call is complete only at its end. */
export class ComputerEvents {
  readonly #calls: hub.ComputerCalls;
  readonly #open = new Set<number>();
  readonly #omitted = new Set<string>();

  constructor(calls: hub.ComputerCalls) {
    this.#calls = calls;
  }

  push(event: hub.HubEvent): readonly hub.HubEvent[] {
    const call = event.kind === 'item' && computerCall(event.item, this.#calls);
    if (call) {
      this.#open.add(event.index);
      return [{ ...event, item: { ...call, form: this.#calls.client === 'messages' ? 'function' : 'builtin' } }];
    }
    if (event.kind === 'finish' && this.#omitted.size > 0)
      return [{ ...event, omitted: [...(event.omitted ?? []), ...this.#omitted] }];
    if (event.kind === 'args' && this.#open.has(event.index)) return [];
    if (event.kind !== 'item_end' || !this.#open.has(event.index)) return [event];
    for (const name of omittedFromCall(event.item, this.#calls)) this.#omitted.add(name);
    return clientCalls(event.item, this.#calls).flatMap((item, n): hub.HubEvent[] => {
      // Between this item and the next one, which has the next whole number.
      const index = event.index + n / 1024;
      const args = item.kind === 'tool_call' ? item.args : '';
      const opening: hub.HubEvent[] = n === 0 ? [] : [{ kind: 'item', index, item }];
      return [...opening, { kind: 'args', index, text: args }, { kind: 'item_end', index, item }];
    });
  }
}

// ---------------------------------------------------------------- calls

/** The arguments of calls in the hub are those of their issuer: a list of actions, or one action. */
const responsesCall = (call: hub.HubToolCall): hub.HubToolCall => {
  const args = parseArgs(call.args);
  const actions = Array.isArray(args.actions) ? args.actions : toResponses(args);
  return { ...call, form: 'builtin', args: JSON.stringify({ ...args, ...NO_MESSAGES_MEMBERS, actions }) };
};
/** Members of a messages action, which JSON leaves out when they are undefined. */
const NO_MESSAGES_MEMBERS = {
  action: undefined,
  coordinate: undefined,
  start_coordinate: undefined,
  text: undefined,
  duration: undefined,
  scroll_direction: undefined,
  scroll_amount: undefined,
  repeat: undefined,
  region: undefined,
};

const messagesCalls = (call: hub.HubToolCall): hub.HubToolCall[] => {
  const args = parseArgs(call.args);
  const actions = Array.isArray(args.actions) ? args.actions.filter(isObject).map(toMessages) : [args];
  return (actions.length > 0 ? actions : [{ action: 'screenshot' }]).map((action, n, { length }) => ({
    ...call,
    form: 'function',
    // The last one keeps the id, because it gets the result.
    callId: n === length - 1 ? call.callId : `${call.callId}_${n}`,
    args: JSON.stringify({ ...action, [CHECKS]: undefined }),
  }));
};
