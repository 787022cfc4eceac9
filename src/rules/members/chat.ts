/**
 * Members of chat requests: openai, `ChatCompletionCreateParams`, and other servers, of which any may be behind an
 * address: the dearest reading counts.
 */
import { words } from '../words.ts';
import { objectKinds } from './kind.ts';

const FUNCTION = ['name', 'description', 'parameters*', 'strict'] as const;
const MARKED = ['prompt_cache_breakpoint:caching', 'cache_control:caching', 'partial'] as const;

export const CHAT_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['model', 'messages:message', 'functions:function', 'prediction:prediction'] },
    { why: 'bounded', members: ['max_tokens', 'max_completion_tokens', 'n', 'tools:tool', 'web_search_options*'] },
    { why: 'tier', members: ['service_tier'] },
    {
      why: 'sampling',
      members: [
        'temperature',
        'top_p',
        'frequency_penalty',
        'presence_penalty',
        'seed',
        'stop',
        'logit_bias*',
        'logprobs',
        'top_logprobs',
      ],
    },
    {
      why: 'within',
      members: [
        'response_format:format',
        'reasoning_effort',
        'verbosity',
        'modalities',
        'audio:voice',
        'tool_choice:choice',
        'parallel_tool_calls',
        'function_call:choice',
      ],
    },
    { why: 'delivery', members: ['stream', 'stream_options*', 'store', 'metadata*'] },
    {
      why: 'label',
      members: [
        'user',
        'safety_identifier',
        'prompt_cache_key',
        'prompt_cache_retention',
        'prompt_cache_options:caching',
      ],
    },
    { why: 'free', members: ['moderation:moderation'] },
    {
      why: 'sampling',
      servers: [
        'vllm',
        'sglang',
        'llamacpp',
        'together',
        'fireworks',
        'deepinfra',
        'openrouter',
        'qwen',
        'nvidia',
        'huggingface',
      ],
      members: words(
        'top_k min_p top_a typical_p repetition_penalty length_penalty repeat_penalty repeat_last_n',
        'stop_token_ids bad_words allowed_token_ids ignore_eos min_tokens random_seed mirostat mirostat_tau',
        'mirostat_eta mirostat_lr mirostat_target dynatemp_range dynatemp_exponent tfs_z xtc_probability',
        'xtc_threshold dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers',
        'samplers min_keep top_n_sigma use_beam_search early_stopping stop_regex no_stop_trim',
      ),
    },
    {
      why: 'text',
      servers: ['vllm', 'sglang', 'llamacpp', 'nvidia', 'fireworks'],
      members: words(
        'chat_template chat_template_kwargs* documents* guided_json* guided_regex guided_choice',
        'guided_grammar guided_decoding_backend guided_whitespace_pattern structured_outputs* structural_tag*',
        'grammar json_schema* regex ebnf add_generation_prompt continue_final_message add_special_tokens echo',
      ),
    },
    {
      why: 'delivery',
      servers: ['vllm', 'sglang', 'llamacpp', 'fireworks', 'lmstudio', 'ollama'],
      members: words(
        'include_stop_str_in_output skip_special_tokens spaces_between_special_tokens prompt_logprobs',
        'return_tokens_as_token_ids return_token_ids truncate_prompt_tokens priority request_id rid',
        'cache_salt cache_prompt id_slot n_probs n_keep n_indent t_max_predict_ms post_sampling_probs',
        'return_progress timings_per_token response_fields ttl separate_reasoning stream_reasoning',
        'return_hidden_states raw_output perf_metrics_in_response context_length_exceeded_behavior',
        'prompt_truncate_len keep_alive think slot_id reasoning_format reasoning_in_content parse_tool_calls',
        'include_reasoning thinking_forced_open',
      ),
    },
    {
      why: 'bounded',
      servers: ['llamacpp', 'ollama', 'vllm'],
      members: ['n_predict', 'best_of', 'max_output_tokens', 'max_new_tokens', 'num_predict'],
    },
    {
      why: 'model',
      servers: ['openrouter', 'together'],
      members: ['models=model', 'fallback_models=model', 'safety_model=model'],
    },
    { why: 'place', servers: ['openrouter'], members: ['route'] },
    {
      why: 'bounded',
      servers: ['openrouter', 'perplexity', 'xai', 'qwen', 'moonshot', 'zai'],
      members: ['plugins*', 'search_parameters*', 'enable_search', 'search_options*', 'web_search*'],
    },
    { why: 'within', servers: ['openrouter', 'together', 'groq'], members: ['reasoning:reasoning'] },
    {
      why: 'delivery',
      servers: ['openrouter', 'huggingface'],
      members: ['transforms', 'usage:accounting', 'session_id', 'trace*', 'structured_outputs*'],
    },
    { why: 'place', servers: ['openrouter'], members: ['provider:routing'] },
    {
      why: 'bounded',
      servers: ['deepseek', 'zai', 'moonshot', 'qwen', 'vllm'],
      members: ['thinking:thinking', 'enable_thinking', 'thinking_budget'],
    },
    { why: 'within', servers: ['mistral'], members: ['safe_prompt', 'prompt_mode', 'random_seed'] },
    {
      why: 'within',
      servers: ['groq', 'cerebras', 'cohere', 'xai'],
      members: [
        'disable_reasoning',
        'clear_thinking',
        'citation_options*',
        'safety_mode',
        'documents*',
        'search_settings*',
      ],
    },
    {
      why: 'delivery',
      servers: ['qwen', 'minimax', 'zai', 'moonshot'],
      members: [
        'result_format',
        'incremental_output',
        'reasoning_split',
        'do_sample',
        'request_id',
        'user_id',
        'tool_stream',
        'partial',
        'mask_sensitive_info',
        'translation_options*',
        'asr_options*',
      ],
    },
    {
      why: 'narrowing',
      servers: ['perplexity'],
      members: words(
        'search_domain_filter search_recency_filter search_after_date_filter search_before_date_filter',
        'last_updated_after_filter last_updated_before_filter search_mode return_images',
        'return_related_questions disable_search enable_search_classifier language_preference',
        'image_domain_filter image_format_filter',
      ),
    },
  ],
  message: {
    members: words(
      'role content:part name refusal audio:id^media tool_calls:call tool_call_id function_call:named',
      'tool_name reasoning reasoning_content reasoning_details* thinking* signature annotations* prefix',
      'partial weight images:part extra_content* cache_control:caching id type tool_plan citations*',
      'is_error',
    ),
  },
  part: {
    types: {
      text: ['text', 'annotations*', 'citations*', ...MARKED],
      refusal: ['refusal', ...MARKED],
      thinking: ['thinking*', 'signature', 'closed', ...MARKED],
      reasoning: ['text', 'signature', ...MARKED],
      image_url: ['image_url:image', 'detail', 'uuid', ...MARKED],
      input_audio: ['input_audio:audio', 'uuid', ...MARKED],
      audio_url: ['audio_url:link', 'uuid', ...MARKED],
      video_url: ['video_url:link', 'uuid', 'fps', ...MARKED],
      file: ['file:file', ...MARKED],
      file_url: ['file_url:link', ...MARKED],
      document_url: ['document_url:link', 'document_name', ...MARKED],
      image: ['image', 'source:source', ...MARKED],
      video: ['video', 'fps', 'max_frames', ...MARKED],
      audio: ['audio', ...MARKED],
      input_text: ['text'],
      input_image: ['image_url:image', 'file_id', 'detail'],
      input_video: ['video_url:link', 'input_video:audio'],
      input_file: ['file_data', 'file_id', 'file_url', 'filename'],
      document: ['document*', 'source:source', 'title', 'context', 'citations*', ...MARKED],
      tool_result: ['tool_use_id', 'content:part', 'is_error', ...MARKED],
      tool_use: ['id', 'name', 'input*', ...MARKED],
    },
    tags: {
      image_url: 'media',
      input_audio: 'media',
      audio_url: 'media',
      video_url: 'media',
      file: 'media',
      file_url: 'media',
      document_url: 'media',
      image: 'media',
      video: 'media',
      audio: 'media',
      input_image: 'media',
      input_video: 'media',
      input_file: 'media',
      document: 'media',
    },
  },
  image: { members: ['url', 'detail'] },
  link: { members: ['url'] },
  audio: { members: ['data', 'format'] },
  source: {
    types: {
      base64: ['data', 'media_type'],
      text: ['data', 'media_type'],
      url: ['url'],
    },
  },
  file: { members: ['file_data', 'file_id', 'filename', 'file_url'] },
  call: { members: ['id', 'index', 'type', 'function:named', 'custom:named', 'extra_content*'] },
  named: { members: ['name', 'arguments*', 'input', 'thought_signature'] },
  id: { members: ['id', 'expires_at', 'data', 'transcript'] },
  tool: {
    types: {
      function: ['function:function', ...FUNCTION, 'cache_control:caching', 'eager_input_streaming'],
      custom: ['custom*'],
      none: ['function:function', ...FUNCTION],
      web_search: ['web_search*'],
      web_search_preview: ['search_context_size', 'user_location*'],
      mcp: [
        'server_label',
        'server_url',
        'server_description',
        'headers*',
        'allowed_tools*',
        'require_approval*',
        'authorization',
      ],
    },
    tags: { web_search: 'tool', web_search_preview: 'tool', mcp: 'tool' },
  },
  function: { members: [...FUNCTION, 'cache_control:caching'] },
  prediction: { members: ['type', 'content:part'] },
  format: { members: ['type', 'json_schema*', 'schema*', 'grammar', 'regex'] },
  voice: { members: ['format', 'voice:id'] },
  choice: { members: ['type', 'name', 'mode', 'function:named', 'custom:named', 'allowed_tools*'] },
  caching: { members: ['type', 'mode', 'ttl'] },
  moderation: { members: ['model', 'policy*'] },
  accounting: { members: ['include'] },
  reasoning: { members: ['effort', 'exclude', 'enabled', 'max_tokens', 'summary'] },
  thinking: { members: ['type', 'budget_tokens', 'clear_thinking', 'keep'] },
  routing: {
    members: words(
      'order only ignore sort allow_fallbacks require_parameters data_collection zdr quantizations',
      'max_price* enforce_distillable_text preferred_min_throughput* preferred_max_latency*',
    ),
  },
});

/** Of requests for vectors, at OpenAI and at other servers. */
export const EMBEDDING_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['model', 'input'] },
    {
      why: 'vectors',
      members: words(
        'encoding_format dimensions user input_type truncation truncate task prompt_name prompt instruction',
        'normalized normalize embedding_type embedding_types output_dimension output_dtype late_chunking',
        'add_special_tokens truncate_prompt_tokens priority service_tier keep_alive metadata*',
      ),
    },
  ],
});
