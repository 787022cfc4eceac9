/** The hosted tool `image_generation`: its item, its partial images and its usage. */
import { invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { omitMembers } from '../faults.ts';
import { type Look, lookMembers, pictureOf, readLook } from '../images/options.ts';
import { imageUsage } from '../images/usage.ts';
import { isObject, type JsonObject, objectsOf } from '../json.ts';
import { lastUserText, type NeutralRequest } from '../neutral-request.ts';
import type { Reply } from '../reply.ts';

const TOOL = 'image_generation';

export interface Drawing {
  item: JsonObject;
  /** Partial images in base64, for streams. */
  partials: string[];
  /** `tool_usage.image_gen`. */
  usage: JsonObject;
}

/** Draws when the tool choice demands it, or when the prompt says "draw". Undefined if no picture is made. */
export async function makeDrawing(
  exchange: Exchange,
  view: NeutralRequest,
  reply: Reply,
): Promise<Drawing | undefined> {
  const { tool_choice: choice, tools } = exchange.json;
  const isForced = isObject(choice) && choice.type === TOOL;
  const at = objectsOf(tools).findIndex((tool) => tool.type === TOOL);
  const tool = objectsOf(tools)[at];
  if (tool === undefined) {
    if (isForced) throw invalid(`Tool choice '${TOOL}' not found in 'tools' parameter.`, 'tool_choice');
    return undefined;
  }
  // The options are checked even if the model makes no picture.
  const look = await readLook(tool, exchange.state.pictures, `tools[${at}].`);
  const prompt = lastUserText(view);
  const isAsked = isForced || (choice !== 'none' && reply.calls.length === 0 && /\bdraw\b/i.test(prompt));
  if (!isAsked || reply.refusal !== undefined) return undefined;
  return drawingOf(exchange, look, { tool, prompt, imagesIn: view.turns.reduce((sum, turn) => sum + turn.media, 0) });
}

interface ToolCall {
  tool: JsonObject;
  prompt: string;
  imagesIn: number;
}

async function drawingOf(exchange: Exchange, look: Look, { tool, prompt, imagesIn }: ToolCall): Promise<Drawing> {
  const { fault, state } = exchange;
  const picture = pictureOf(look, 0, fault);
  const partials = Array.from({ length: look.partials }, (_unused, partial) =>
    state.pictures.get({ ...picture, partial }),
  );
  const isEdit = tool.action === 'edit' || (tool.action !== 'generate' && imagesIn > 0);
  const item = {
    id: state.ids.next('ig_'),
    type: 'image_generation_call',
    status: 'completed',
    action: isEdit ? 'edit' : 'generate',
    ...lookMembers(look),
    result: (await state.pictures.get(picture)).text,
    revised_prompt: 'A simulated picture.',
  };
  return {
    item: omitMembers(item, fault),
    partials: (await Promise.all(partials)).map(({ text }) => text),
    usage: imageUsage({ prompt, imagesIn, count: 1, look }),
  };
}
