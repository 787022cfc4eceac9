/** Fields that leave no trace in the provider's request, and why that is right. */

export interface Exception {
  readonly fields: RegExp;
  readonly why: string;
  /** Only these conversions; all if absent. */
  readonly pairs?: RegExp;
}

export const INTENDED: readonly Exception[] = [
  { fields: /^stream(?:=false)?$/, why: 'in the path of the request', pairs: /over generate/ },
  { fields: /^stream_options\.include_usage/, why: 'about the response, which the gateway writes' },
  { fields: /^include=(?:reasoning|web_search_call\.action)/, why: 'the response always contains it' },
  { fields: /^include=message\.output_text\.logprobs$/, why: 'rejected as `top_logprobs`' },
  { fields: /^top_logprobs$/, why: 'rejected as `logprobs`, without which it is invalid', pairs: /^chat/ },
  { fields: /^user$/, why: 'dropped as `safety_identifier`, its newer name' },
  { fields: /^cache_control/, why: 'the provider caches prefixes automatically', pairs: /over (?:responses|chat)/ },
  { fields: /^prompt_cache_key$/, why: 'selects the account, and with it the cache' },
  { fields: /^(?:previous_response_id|store)/, why: 'the gateway stores responses itself', pairs: /^responses/ },
  {
    fields: /^reasoning\.(?:generate_)?summary=|^thinking\((?:adaptive|enabled)\)(?:\.display=|$)/,
    why: 'the response contains what the server shows',
    pairs: /over chat/,
  },
  { fields: /json_schema\)(?:\.json_schema)?\.strict/, why: 'the provider always enforces the schema' },
  { fields: /format\(text\)$|^tool_choice\(auto\)$|\.type=custom$|environment\(local\)$/, why: 'the default' },
  { fields: /\.network_policy\(disabled\)$/, why: 'containers of other providers have no network' },
  { fields: /defer_loading/, why: 'without a tool search the model could never find the tool' },
  { fields: /budget_tokens$/, why: 'becomes one of few efforts' },
  { fields: /\(tool_addition\)\.tool\(tool_reference\)/, why: 'unhides a tool that is offered from the start' },
  {
    fields: /^input\(.*\)\.(?:phase=|status=|id$|call_id$|caller\(|max_output_length$|content\(output_text\))/,
    why: 'history: a provider issued it, and its issuer is the only one that reads it',
  },
  {
    fields: /^messages\(function\)\.name$|\(function_call_output\)\.name(?:space)?$/,
    why: 'a result has the name of its call',
  },
  { fields: /WebSearch(?:Preview)?Tool\)\.type=/, why: 'revisions of one tool' },
  { fields: /^mcp_servers/, why: 'rejected as `tools`: the server needs a toolset', pairs: /over (?:generate|chat)/ },
  { fields: /^tool_choice\(allowed_tools\)$/, why: 'all tools of the request are allowed' },
  { fields: /\(mcp_(?:approval_request|list_tools)\)/, why: 'history that only its provider can read' },
  { fields: /\(configuration_update\)(?:\.text)?$/, why: 'changes nothing by itself' },
  {
    fields: /^messages\(assistant\)|^input\((?:ResponseInput\)\()?[a-z_]*(?:_call|reasoning|program|program_output)\)/,
    why: 'history that only its provider can read is dropped with its block',
  },
];

/** Requests that are valid only with state that this test lacks. */
export const UNTESTED: readonly Exception[] = [
  { fields: /\(mcp_toolset\)/, why: 'refers to a server that the request must have', pairs: /^messages/ },
  { fields: /\.ItemReference\)/, why: 'refers to a stored item', pairs: /^responses/ },
];
