/**
 * The grammar of a responses stream as its clients require it: numbered events, items added before their deltas and
 * done before the end, parts opened before their deltas, every `done` equal to its deltas, and a terminal event with
 * all items.
 */
import { type JsonObject, objectOf } from '../json.ts';
import { blocksOf, count, demand, list, object, parse, type StreamResult, same, text } from './blocks.ts';

export function read(stream: string): StreamResult {
  const state: State = { sequence: 0, id: '', items: [], result: undefined };
  for (const block of blocksOf(stream, { named: true, comments: true })) {
    demand(state.result === undefined, `${block.event} after the end`);
    const event = parse(block.data);
    const type = text(event, 'type');
    demand(type === block.event, 'event name and type differ');
    demand(count(event, 'sequence_number') === state.sequence, 'a gap in the sequence numbers');
    const step = STEPS.get(type);
    demand(step !== undefined, `unknown event: ${type}`);
    const expected = FIRST[state.sequence];
    demand(expected === undefined || type === expected, `${type} instead of ${expected}`);
    state.sequence += 1;
    step(event, state);
  }
  demand(state.result !== undefined, 'the stream ends without a terminal event');
  return state.result;
}

const FIRST = ['response.created', 'response.in_progress'];

interface State {
  sequence: number;
  id: string;
  readonly items: Item[];
  result: StreamResult | undefined;
}
interface Item {
  readonly id: string;
  readonly type: string;
  readonly parts: Part[];
  args: string;
  argsDone: boolean;
  /** Number of partial images. */
  partials: number;
  done?: JsonObject;
}
interface Part {
  readonly type: string;
  text: string;
  readonly notes: JsonObject[];
  textDone: boolean;
  done: boolean;
}

type Step = (event: JsonObject, state: State) => void;

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  ['response.created', snapshot],
  ['response.in_progress', snapshot],
  ['response.output_item.added', added],
  ['response.content_part.added', partAdded('content_index')],
  ['response.output_text.delta', delta('content_index', 'output_text')],
  ['response.output_text.done', textDone('content_index', 'output_text', 'text')],
  ['response.output_text.annotation.added', annotation],
  ['response.refusal.delta', delta('content_index', 'refusal')],
  ['response.refusal.done', textDone('content_index', 'refusal', 'refusal')],
  ['response.content_part.done', partDone('content_index')],
  ['response.reasoning_summary_part.added', partAdded('summary_index')],
  ['response.reasoning_summary_text.delta', delta('summary_index', 'summary_text')],
  ['response.reasoning_summary_text.done', textDone('summary_index', 'summary_text', 'text')],
  ['response.reasoning_summary_part.done', partDone('summary_index')],
  ['response.function_call_arguments.delta', args('function_call')],
  ['response.function_call_arguments.done', argsDone('function_call', 'arguments')],
  ['response.custom_tool_call_input.delta', args('custom_tool_call')],
  ['response.custom_tool_call_input.done', argsDone('custom_tool_call', 'input')],
  ['response.code_interpreter_call_code.delta', args('code_interpreter_call')],
  ['response.code_interpreter_call_code.done', hostedDone('code_interpreter_call', 'code')],
  ['response.mcp_call_arguments.delta', args('mcp_call')],
  ['response.mcp_call_arguments.done', hostedDone('mcp_call', 'arguments')],
  ...['in_progress', 'searching', 'completed'].map(stage('web_search_call')),
  ...['in_progress', 'searching', 'completed'].map(stage('file_search_call')),
  ...['in_progress', 'interpreting', 'completed'].map(stage('code_interpreter_call')),
  ...['in_progress', 'completed', 'failed'].map(stage('mcp_call')),
  ...['in_progress', 'completed', 'failed'].map(stage('mcp_list_tools')),
  ...['in_progress', 'generating', 'completed'].map(stage('image_generation_call')),
  ['response.image_generation_call.partial_image', partialImage],
  ['response.output_item.done', itemDone],
  ['response.completed', terminal('completed')],
  ['response.incomplete', terminal('incomplete')],
  ['response.failed', terminal('failed')],
]);

// ---------------------------------------------------------------- the response object

const NULLABLE = [
  ...['error', 'incomplete_details', 'instructions', 'max_output_tokens', 'previous_response_id', 'usage', 'user'],
  ...['completed_at', 'prompt_cache_key', 'max_tool_calls', 'prompt', 'safety_identifier'],
];

function checkResponse(event: JsonObject, state: State): JsonObject {
  const response = object(event, 'response');
  const id = text(response, 'id');
  demand(/^resp_\S+$/.test(id) && (state.id === '' || state.id === id), 'one id, beginning with resp_');
  state.id = id;
  demand(response.object === 'response', 'the object of a response');
  text(response, 'model');
  count(response, 'created_at');
  for (const name of NULLABLE) demand(name in response, `${name} must be present, may be null`);
  for (const name of ['metadata', 'text', 'reasoning']) object(response, name);
  list(response, 'tools');
  demand(
    typeof response.parallel_tool_calls === 'boolean' && typeof response.store === 'boolean',
    'settings are echoed',
  );
  demand('tool_choice' in response && 'truncation' in response && 'service_tier' in response, 'settings are echoed');
  return response;
}

function snapshot(event: JsonObject, state: State): void {
  const response = checkResponse(event, state);
  demand(response.status === 'in_progress' && response.usage === null, 'an unfinished response');
  demand(list(response, 'output').length === 0, 'the output starts empty');
}

// ---------------------------------------------------------------- items

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  compaction: 'cmp_',
  web_search_call: 'ws_',
  code_interpreter_call: 'ci_',
  mcp_call: 'mcp_',
  mcp_list_tools: 'mcpl_',
  tool_search_call: 'ts_',
  tool_search_output: 'tso_',
  image_generation_call: 'ig_',
};

function added(event: JsonObject, state: State): void {
  demand(count(event, 'output_index') === state.items.length, 'output indexes count up from zero');
  const item = object(event, 'item');
  const id = text(item, 'id');
  const type = text(item, 'type');
  demand(id.startsWith(PREFIXES[type] ?? '') && id !== '', `the id of a ${type}`);
  demand(!state.items.some((one) => one.id === id), 'a repeated item id');
  if (type === 'message')
    demand(list(item, 'content').length === 0 && item.role === 'assistant', 'a message starts empty');
  if (type === 'reasoning') demand(list(item, 'summary').length === 0, 'a summary starts empty');
  if (type === 'function_call')
    demand(text(item, 'arguments') === '' && text(item, 'call_id') !== '', 'a call starts empty');
  if (type === 'custom_tool_call')
    demand(text(item, 'input') === '' && text(item, 'call_id') !== '', 'a call starts empty');
  if (item.status !== undefined) demand(item.status === 'in_progress', 'an item starts in progress');
  state.items.push({ id, type, parts: [], args: '', argsDone: false, partials: 0 });
}

function itemAt(event: JsonObject, state: State): Item {
  const item = state.items[count(event, 'output_index')];
  demand(
    item !== undefined && item.id === event.item_id && item.done === undefined,
    'an event of an item that is not open',
  );
  return item;
}

function itemDone(event: JsonObject, state: State): void {
  const final = object(event, 'item');
  const item = itemAt({ ...event, item_id: text(final, 'id') }, state);
  demand(item.type === final.type, 'the type of an item changed');
  demand(
    item.parts.every((part) => part.done),
    'an item is done while a part is open',
  );
  if (item.type === 'message')
    demand(same(final.content, item.parts.map(contentOf)), 'a message is the sum of its parts');
  if (item.type === 'reasoning')
    demand(same(final.summary, item.parts.map(contentOf)), 'a summary is the sum of its parts');
  if (item.type === 'function_call') checkCall(item, final, 'arguments', state);
  if (item.type === 'custom_tool_call') checkCall(item, final, 'input', state);
  if (item.type === 'code_interpreter_call') demand(final.code === item.args, 'code is the sum of its deltas');
  if (item.type === 'mcp_call') demand(final.arguments === item.args, 'arguments are the sum of their deltas');
  if (item.type === 'image_generation_call' && final.status === 'completed')
    demand(text(final, 'result') !== '', 'a completed picture has a result');
  demand(
    final.status === undefined || ['completed', 'incomplete', 'failed'].includes(text(final, 'status')),
    'a final status',
  );
  item.done = final;
}

function checkCall(item: Item, final: JsonObject, field: string, state: State): void {
  demand(item.argsDone && final[field] === item.args, 'a call is the sum of its deltas');
  demand(text(final, 'name') !== '' && final.status === 'completed', 'a call has a name and is complete');
  const twice = state.items.some((one) => one.done?.call_id === final.call_id);
  demand(!twice, 'a repeated call id');
}

const contentOf = ({ type, text: value, notes }: Part): JsonObject =>
  type === 'output_text'
    ? { type, text: value, annotations: notes, logprobs: [] }
    : type === 'refusal'
      ? { type, refusal: value }
      : { type, text: value };

// ---------------------------------------------------------------- parts

function partAdded(index: 'content_index' | 'summary_index'): Step {
  return (event, state) => {
    const item = itemAt(event, state);
    demand(item.type === (index === 'content_index' ? 'message' : 'reasoning'), 'parts of the right kind of item');
    demand(count(event, index) === item.parts.length, 'parts count up from zero');
    demand(
      item.parts.every((part) => part.done),
      'a part opens while another is open',
    );
    const part = object(event, 'part');
    const type = text(part, 'type');
    demand((type === 'refusal' ? part.refusal : part.text) === '', 'a part starts empty');
    item.parts.push({ type, text: '', notes: [], textDone: false, done: false });
  };
}

function partAt(event: JsonObject, state: State, index: string): Part {
  const item = itemAt(event, state);
  const part = item.parts[count(event, index)];
  demand(part !== undefined && !part.done, 'an event of a part that is not open');
  return part;
}

function delta(index: string, type: string): Step {
  return (event, state) => {
    const part = partAt(event, state, index);
    const piece = text(event, 'delta');
    demand(part.type === type && !part.textDone && piece !== '', `a delta of ${type}`);
    if (type === 'output_text') list(event, 'logprobs');
    part.text += piece;
  };
}

function textDone(index: string, type: string, field: string): Step {
  return (event, state) => {
    const part = partAt(event, state, index);
    demand(
      part.type === type && event[field] === part.text && !part.textDone,
      `the end of ${type} is the sum of its deltas`,
    );
    part.textDone = true;
  };
}

function annotation(event: JsonObject, state: State): void {
  const part = partAt(event, state, 'content_index');
  demand(count(event, 'annotation_index') === part.notes.length, 'annotations count up from zero');
  const note = object(event, 'annotation');
  if (note.type === 'file_citation')
    demand(text(note, 'file_id') !== '' && count(note, 'index') >= 0, 'a file and a place');
  else demand(count(note, 'start_index') <= count(note, 'end_index'), 'start_index is not after end_index');
  part.notes.push(note);
}

function partDone(index: string): Step {
  return (event, state) => {
    const part = partAt(event, state, index);
    demand(part.textDone && same(object(event, 'part'), contentOf(part)), 'a part is the sum of its deltas');
    part.done = true;
  };
}

function args(type: string): Step {
  return (event, state) => {
    const item = itemAt(event, state);
    demand(item.type === type && !item.argsDone, `arguments of a ${type}`);
    item.args += text(event, 'delta');
  };
}

function argsDone(type: string, field: string): Step {
  return (event, state) => {
    const item = itemAt(event, state);
    demand(item.type === type && event[field] === item.args, 'the arguments are the sum of their deltas');
    demand(text(event, 'name') !== '', 'the end of arguments names the tool');
    item.argsDone = true;
  };
}

/** Of a tool that the provider ran. */
function hostedDone(type: string, field: string): Step {
  return (event, state) => {
    const item = itemAt(event, state);
    demand(item.type === type && event[field] === item.args, `the ${field} is the sum of its deltas`);
    item.argsDone = true;
  };
}

function stage(type: string): (name: string) => [string, Step] {
  return (name) => [
    `response.${type}.${name}`,
    (event, state) => demand(itemAt(event, state).type === type, `a stage of a ${type}`),
  ];
}

function partialImage(event: JsonObject, state: State): void {
  const item = itemAt(event, state);
  demand(item.type === 'image_generation_call', 'a partial image of a picture');
  demand(count(event, 'partial_image_index') === item.partials, 'partial images count up from zero');
  demand(text(event, 'partial_image_b64') !== '', 'a partial image has data');
  item.partials += 1;
}

// ---------------------------------------------------------------- the end

/** A call that was cut is never done, so that no client runs it; the response has it as incomplete. */
function withoutCutCalls(output: unknown, { items }: State): unknown {
  if (!Array.isArray(output)) return output;
  const isDone = (item: unknown): boolean => items.some(({ done }) => done !== undefined && same(done, item));
  return output.filter((item) => objectOf(item).status !== 'incomplete' || isDone(item));
}

function terminal(status: 'completed' | 'incomplete' | 'failed'): Step {
  return (event, state) => {
    const response = checkResponse(event, state);
    demand(
      response.status === status || (status === 'incomplete' && response.status === 'cancelled'),
      'status matches the terminal event',
    );
    const done = state.items.filter((item) => item.done).map((item) => item.done);
    demand(same(withoutCutCalls(response.output, state), done), 'the terminal event contains all items');
    // Only a failed response, or a call truncated by the length limit, may leave an item open.
    const open = state.items.filter((item) => !item.done);
    demand(status !== 'completed' || open.length === 0, 'an item was never done');
    if (status === 'failed') {
      const error = object(response, 'error');
      demand(text(error, 'code') !== '' && text(error, 'message') !== '', 'an error has a code and a message');
      state.result = { end: 'error', error };
      return;
    }
    demand(response.error === null, 'no error in a completed response');
    demand(
      status === 'completed' || response.incomplete_details !== null || response.status === 'cancelled',
      'incomplete_details are present',
    );
    checkUsage(object(response, 'usage'));
    const tools = objectOf(response.tool_usage);
    if ('image_gen' in tools) checkImageUsage(object(tools, 'image_gen'));
    state.result = { end: 'complete', body: response };
  };
}

function checkTotal(usage: JsonObject): void {
  demand(
    count(usage, 'total_tokens') === count(usage, 'input_tokens') + count(usage, 'output_tokens'),
    'the total is the sum',
  );
}

function checkUsage(usage: JsonObject): void {
  checkTotal(usage);
  const input = object(usage, 'input_tokens_details');
  count(input, 'cached_tokens');
  count(input, 'cache_write_tokens');
  count(object(usage, 'output_tokens_details'), 'reasoning_tokens');
}

function checkImageUsage(usage: JsonObject): void {
  checkTotal(usage);
  for (const side of ['input', 'output']) {
    const details = object(usage, `${side}_tokens_details`);
    const sum = count(details, 'text_tokens') + count(details, 'image_tokens');
    demand(sum === count(usage, `${side}_tokens`), 'the details add up');
  }
}
