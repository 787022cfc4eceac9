/** Fields that leave no trace in the converted request or reply, and why that is right. `docs/fidelity.md` prints the reasons. */

export interface Exception {
  readonly fields: RegExp;
  readonly why: string;
  /** Only these conversions; all if absent. */
  readonly pairs?: RegExp;
}

export const exceptionFor = (rows: readonly Exception[], label: string, pair: string): Exception | undefined =>
  rows.find(({ fields, pairs }) => fields.test(label) && pairs?.test(pair) !== false);

/** Fields of requests. */
export const INTENDED: readonly Exception[] = [
  { fields: /^stream(?:=false)?$/, why: 'in the path of the request', pairs: /over (?:generate|converse)/ },
  { fields: /^stream_options\.include_usage/, why: 'about the response, which the gateway writes' },
  { fields: /^include=(?:reasoning|web_search_call\.action)/, why: 'the response always contains it' },
  { fields: /^include=message\.output_text\.logprobs$/, why: 'rejected as `top_logprobs`' },
  { fields: /^top_logprobs$/, why: 'rejected as `logprobs`, without which it is invalid', pairs: /^chat/ },
  { fields: /^user$/, why: 'dropped as `safety_identifier`, its newer name' },
  { fields: /^cache_control/, why: 'the provider caches prefixes automatically', pairs: /over (?:responses|chat)/ },
  {
    fields: /^cache_control\.ttl/,
    why: 'the breakpoint of the whole request has the default lifetime',
    pairs: /over converse/,
  },
  { fields: /^prompt_cache_key$/, why: 'selects the account, and with it the cache' },
  { fields: /^(?:previous_response_id|store)/, why: 'the gateway stores responses itself', pairs: /^responses/ },
  { fields: /^background/, why: 'the gateway makes the response in the background itself', pairs: /^responses/ },
  {
    fields: /^reasoning\.(?:generate_)?summary=|^thinking\((?:adaptive|enabled)\)(?:\.display=|$)/,
    why: 'the response contains what the server shows',
    pairs: /over (?:chat|converse)/,
  },
  { fields: /json_schema\)(?:\.json_schema)?\.strict/, why: 'the provider always enforces the schema' },
  {
    fields: /format\(text\)$|^tool_choice\(auto\)$|\.type=custom$|environment\(local\)$|\.caller\(direct\)$/,
    why: 'the default',
  },
  { fields: /\.network_policy\(disabled\)$/, why: 'containers of other providers have no network' },
  {
    fields: /^thinking\(disabled\)$/,
    why: 'a model without reasoning never thinks',
    pairs: /over (?:responses|chat|converse)/,
  },
  {
    fields: /\(computer_use_preview\)\.display_(?:width|height)/,
    why: 'coordinates of calls become pixels of it',
    pairs: /over generate/,
  },
  { fields: /budget_tokens$/, why: 'becomes one of few efforts' },
  { fields: /\(tool_addition\)\.tool\(tool_reference\)/, why: 'unhides a tool that is offered from the start' },
  {
    fields:
      /^input\(.*\)\.(?:phase=|status=|id$|call_id$|container_id$|approval_request_id$|execution=)|_tool_use\)\.id$/,
    why: 'history: a provider issued it, and its issuer is the only one that reads it',
  },
  {
    fields:
      /\.(?:page_age|encrypted_content|encrypted_stdout|retrieved_at|score|attributes)$|(?:_list_tools|_listing)\)\.tools\.(?:annotations|input_schema)$|\(mcp_call\)\.error\(\w+\)\.code$/,
    why: 'history: a call of a hosted tool becomes text without the marks of its issuer',
  },
  {
    fields: /\(image_generation_call\)\./,
    why: 'history: an image is sent without a description of it',
    pairs: /over generate/,
  },
  {
    fields: /\(web_fetch_result\)\.content\.(?:citations\.enabled|source\((?:url|base64)\)|source.*\(image\)\.)/,
    why: 'history: of a fetched page its text is sent, not its pictures',
  },
  {
    fields: /^messages\(function\)\.name$|\(function_call_output\)\.name(?:space)?$/,
    why: 'a result has the name of its call',
  },
  { fields: /WebSearch(?:Preview)?Tool\)\.type=/, why: 'revisions of one tool' },
  {
    fields: /\((?:redacted_)?thinking\)\./,
    why: 'history: kept before other content of its turn; the provider rejects it at the end of one',
    pairs: /messages over converse/,
  },
  {
    fields: /\(document\)\.(?:citations|context|title)/,
    why: 'a picture that is sent as a document is a picture, which has none of these',
    pairs: /messages over converse/,
  },
  { fields: /^function_call\(/, why: 'dropped as `tool_choice`, its newer name', pairs: /over converse/ },
  { fields: /^tool_choice\(allowed_tools\)$/, why: 'all tools of the request are allowed' },
  { fields: /\(configuration_update\)(?:\.text)?$/, why: 'changes nothing by itself' },
];

/** Requests that are valid only with state that this test lacks. */
export const UNTESTED: readonly Exception[] = [
  { fields: /\(mcp_toolset\)/, why: 'refers to a server that the request must have', pairs: /^messages/ },
  { fields: /\.ItemReference\)/, why: 'refers to a stored item', pairs: /^responses/ },
];

/** Members of replies. */
export const IN_REPLIES: readonly Exception[] = [
  {
    fields:
      /^(?:access_programs|background|conversation|image|instructions|max_\w+|metadata|parallel_tool_calls|previous_response_id|prompt(?:_cache_(?:key|options|retention))?|reasoning|safety_identifier|store|temperature|text|tool_choice|tools|top_logprobs|top_p|truncation|user)(?:[.=(]|$)/,
    why: 'repeats the request; a client that expects that gets its own settings back',
  },
  {
    fields:
      /^(?:id|created|created_at|completed_at|createTime|responseId|modelVersion|system_fingerprint)$|^output\(.*\)\.(?:id|created_by)$|\.role$/,
    why: 'the gateway writes ids, times and names of models itself',
  },
  {
    fields:
      /^(?:diagnostics|prompt_cache_diagnostics|moderation)(?:[.=(]|$)|\)\.(?:caller\(|async|toolset_name|environment\(local\)|namespace)/,
    why: 'only in replies to requests with an option that conversions drop or reject by name',
  },
  {
    fields: /^(?:usage|usageMetadata|tool_usage)\.|svg_usage|tokenCount$/,
    why: 'counts without a member in the usage of the client; their sums and the charge include them',
  },
  {
    fields:
      /\.(?:citations|annotations)[.(].*(?:cited_text|encrypted_index|_index|_page_number|container_id|\.index|[sS]tartIndex|[eE]ndIndex|license|publicationDate\.\w+)$|\.groundingMetadata\.(?:groundingChunks\.|groundingSupports\.|retrievalMetadata\.)/,
    why: 'a citation has a source, a title and a place, as far as the dialect of the client has them',
  },
  {
    fields: /\.safetyRatings|\.avgLogprobs$|^modelStatus|^promptFeedback\.blockReason=/,
    why: 'ratings and statistics of the provider; a blocked reply has a stop reason',
  },
  {
    fields: /^(?:stop_reason|stop_sequence|service_tier)|[fF]inish_?[rR]eason=|\.(?:status|phase)=|^incomplete_details/,
    why: 'several values of the provider are one of the client',
  },
  { fields: /^stop_details\.category=/, why: 'the text of a refusal is kept, its category is not' },
  { fields: /^error\./, why: 'an error of the provider becomes one of the gateway, see errors.md' },
  { fields: /(?:^choices|^candidates)\.index$/, why: 'conversions ask for one reply and return the first' },
  {
    fields:
      /\.signature$|\.redactedContent$|\(redacted_thinking\)\.data$|\.thoughtSignature$|\(reasoning\)\.encrypted_content$/,
    why: 'in a cache of the gateway, because the client cannot return it',
    pairs: /^chat|^messages over generate/,
  },
  {
    fields: /\(image_generation_call\)\.|\.displayName$/,
    why: 'the client gets the image without a description of it',
  },
  { fields: /\.continuationToken$|\.willContinue/, why: 'the gateway joins the pieces of a reply' },
];
