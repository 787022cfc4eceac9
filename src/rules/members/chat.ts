/** Members of chat requests: openai, `ChatCompletionCreateParams`, and other servers, of which any may be behind an address: the dearest reading counts. */
import { readKinds } from './kind.ts';

export const CHAT_MEMBERS = readKinds(`
@function: name description parameters* strict
@marked: prompt_cache_breakpoint:caching cache_control:caching partial
request text: model messages:message functions:function prediction:prediction
request bounded: max_tokens max_completion_tokens n tools:tool web_search_options*
request tier: service_tier
request sampling: temperature top_p frequency_penalty presence_penalty seed stop logit_bias* logprobs top_logprobs
request within: response_format:format reasoning_effort verbosity modalities audio:voice tool_choice:choice parallel_tool_calls function_call:choice
request delivery: stream stream_options* store metadata*
request label: user safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options:caching
request free: moderation:moderation
request sampling [vllm sglang llamacpp together fireworks deepinfra openrouter qwen nvidia huggingface]: top_k min_p top_a typical_p
  repetition_penalty length_penalty repeat_penalty repeat_last_n stop_token_ids bad_words allowed_token_ids ignore_eos min_tokens random_seed
  mirostat mirostat_tau mirostat_eta mirostat_lr mirostat_target dynatemp_range dynatemp_exponent tfs_z xtc_probability xtc_threshold dry_multiplier
  dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers samplers min_keep top_n_sigma use_beam_search early_stopping stop_regex
  no_stop_trim
request text [vllm sglang llamacpp nvidia fireworks]: chat_template chat_template_kwargs* documents* guided_json* guided_regex guided_choice
  guided_grammar guided_decoding_backend guided_whitespace_pattern structured_outputs* structural_tag* grammar json_schema* regex ebnf
  add_generation_prompt continue_final_message add_special_tokens echo
request delivery [vllm sglang llamacpp fireworks lmstudio ollama]: include_stop_str_in_output skip_special_tokens spaces_between_special_tokens
  prompt_logprobs return_tokens_as_token_ids return_token_ids truncate_prompt_tokens priority request_id rid cache_salt cache_prompt id_slot n_probs
  n_keep n_indent t_max_predict_ms post_sampling_probs return_progress timings_per_token response_fields ttl separate_reasoning stream_reasoning
  return_hidden_states raw_output perf_metrics_in_response context_length_exceeded_behavior prompt_truncate_len keep_alive think slot_id
  reasoning_format reasoning_in_content parse_tool_calls include_reasoning thinking_forced_open
request bounded [llamacpp ollama vllm]: n_predict best_of max_output_tokens max_new_tokens num_predict
request model [openrouter together]: models=model fallback_models=model safety_model=model
request place [openrouter]: route
request bounded [openrouter perplexity xai qwen moonshot zai]: plugins* search_parameters* enable_search search_options* web_search*
request within [openrouter together groq]: reasoning:reasoning
request delivery [openrouter huggingface]: transforms usage:accounting session_id trace* structured_outputs*
request place [openrouter]: provider:routing
request bounded [deepseek zai moonshot qwen vllm]: thinking:thinking enable_thinking thinking_budget
request within [mistral]: safe_prompt prompt_mode random_seed
request within [groq cerebras cohere xai]: disable_reasoning clear_thinking citation_options* safety_mode documents* search_settings*
request delivery [qwen minimax zai moonshot]: result_format incremental_output reasoning_split do_sample request_id user_id tool_stream partial
  mask_sensitive_info translation_options* asr_options*
request narrowing [perplexity]: search_domain_filter search_recency_filter search_after_date_filter search_before_date_filter
  last_updated_after_filter last_updated_before_filter search_mode return_images return_related_questions disable_search enable_search_classifier
  language_preference image_domain_filter image_format_filter
message: role content:part name refusal audio:id^media tool_calls:call tool_call_id function_call:named tool_name reasoning reasoning_content
  reasoning_details* thinking* signature annotations* prefix partial weight images:part extra_content* cache_control:caching id type tool_plan
  citations* is_error
part(text): text annotations* citations* @marked
part(refusal): refusal @marked
part(thinking): thinking* signature closed @marked
part(reasoning): text signature @marked
part(image_url)^media: image_url:image detail uuid @marked
part(input_audio)^media: input_audio:audio uuid @marked
part(audio_url)^media: audio_url:link uuid @marked
part(video_url)^media: video_url:link uuid fps @marked
part(file)^media: file:file @marked
part(file_url)^media: file_url:link @marked
part(document_url)^media: document_url:link document_name @marked
part(image)^media: image source:source @marked
part(video)^media: video fps max_frames @marked
part(audio)^media: audio @marked
part(input_text): text
part(input_image)^media: image_url:image file_id detail
part(input_video)^media: video_url:link input_video:audio
part(input_file)^media: file_data file_id file_url filename
part(document)^media: document* source:source title context citations* @marked
part(tool_result): tool_use_id content:part is_error @marked
part(tool_use): id name input* @marked
image: url detail
link: url
audio: data format
source(base64 text): data media_type
source(url): url
file: file_data file_id filename file_url
call: id index type function:named custom:named extra_content*
named: name arguments* input thought_signature
id: id expires_at data transcript
tool(function): function:function @function cache_control:caching eager_input_streaming
tool(custom): custom*
tool(none): function:function @function
tool(web_search)^tool: web_search*
tool(web_search_preview)^tool: search_context_size user_location*
tool(mcp)^tool: server_label server_url server_description headers* allowed_tools* require_approval* authorization
function: @function cache_control:caching
prediction: type content:part
format: type json_schema* schema* grammar regex
voice: format voice:id
choice: type name mode function:named custom:named allowed_tools*
caching: type mode ttl
moderation: model policy*
accounting: include
reasoning: effort exclude enabled max_tokens summary
thinking: type budget_tokens clear_thinking keep
routing: order only ignore sort allow_fallbacks require_parameters data_collection zdr quantizations max_price* enforce_distillable_text
  preferred_min_throughput* preferred_max_latency*
`);

/** Of requests for vectors, at OpenAI and at other servers. */
export const EMBEDDING_MEMBERS = readKinds(`
request text: model input
request vectors: encoding_format dimensions user input_type truncation truncate task prompt_name prompt instruction normalized normalize
  embedding_type embedding_types output_dimension output_dtype late_chunking add_special_tokens truncate_prompt_tokens priority service_tier
  keep_alive metadata*
`);
