// The JSON of the API, as far as the page reads it. /v1/openapi.json is the whole truth.

import type { FieldSettings } from './settings';

export type ID = string;

export type SessionStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
export type WaitReason = 'approval' | 'tool_result' | 'input' | 'child' | 'budget' | 'rate_limit' | 'outside';
export type During = 'queue' | 'steer' | 'interrupt' | 'reject';

export interface Page<T> {
  data: T[];
  next: string | null;
}

export interface Tokens {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  unknown_calls: number;
}

export interface Statistics extends Tokens {
  messages: number;
  user_facing: number;
  turns: number;
  cost: number;
  unpriced_calls: number;
  calls: number;
  cache_hits: number;
  saved: number;
}

export interface Policy {
  kind: string;
  limit?: number | null;
  tokens?: number | null;
}

export interface Session extends FieldSettings {
  id: ID;
  agent_id: ID;
  owner_id: ID;
  visibility: 'private' | 'workspace';
  project_id: ID | null;
  parent_session_id: ID | null;
  parent_message_id: ID | null;
  forked_through: number | null; // of a fork: the last sequence that it shares with its parent
  root_id: ID;
  kind: 'agent' | 'tool';
  mode: 'foreground' | 'background';
  type: string | null;
  feature: string | null;
  task: string | null;
  key: string | null;
  title: string;
  instructions: string | null;
  tags: string[];
  pinned: boolean;
  metadata: Record<string, unknown>;
  model: string | null;
  tools: ToolRef[] | null;
  context_policy: Policy | null;
  during: During | null;
  status: SessionStatus;
  wait_reason: WaitReason | null;
  statistics: Statistics;
  context: { messages: number; tokens: number; cleared_at: string | null };
  last_sequence: number;
  last_event_sequence: number;
  turn_id: ID | null;
  archived_at: string | null;
  created_at: string;
  updated_at: string;
}

export type ToolRef = string | { name: string; description: string; agent?: string; parameters?: unknown };

export interface Agent extends FieldSettings {
  id: ID;
  slug: string;
  name: string;
  description: string;
  system_prompt: string;
  model: string | null;
  tools: ToolRef[];
  grants: unknown[];
  limits: Record<string, number | null>;
  context_policy: Policy | null;
  tags: string[];
  status: 'active' | 'archived';
  owner_id: ID | null;
  owner_name: string | null;
  version: number;
  created_at: string;
  updated_at: string;
}

export type Role = 'user' | 'assistant' | 'tool_call' | 'tool_result' | 'summary' | 'system';
export type MessageStatus = 'queued' | 'streaming' | 'completed' | 'failed' | 'cancelled';

export interface Failure {
  class: string;
  sentence: string;
  detail: string | null;
  attempts: number | null;
  retry_at: string | null;
}

export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
}

export interface Author {
  kind: 'person' | 'service' | 'agent';
  id: ID;
  name: string;
}

export interface SessionClient {
  client_id: string;
  principal: Author;
  seen_at: string;
  expires_at: string;
}

export interface TreeTotal extends Omit<Tokens, 'unknown_calls'> {
  sessions: number;
  turns: number;
  cost: number;
  unpriced_calls: number;
}

export interface TreeNode {
  id: ID;
  parent_session_id: ID | null;
  parent_message_id: ID | null;
  depth: number;
  agent_id: ID;
  agent_slug: string;
  kind: 'agent' | 'tool';
  title: string;
  status: SessionStatus;
  wait_reason: WaitReason | null;
  statistics: Statistics;
  total: TreeTotal;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
}

export interface Tree {
  data: TreeNode[];
  total: TreeTotal;
  truncated: boolean;
}

// ContentPart is a piece of a content, in the order in which it is read.
export interface ContentPart {
  type: 'text' | 'image' | 'file' | 'audio' | 'link' | 'reasoning' | 'refusal' | 'object';
  text?: string;
  citations?: { start: number; end: number; text?: string; title?: string; url?: string }[];
  file_id?: ID;
  sha256?: string;
  media_type?: string;
  name?: string;
  url?: string;
  title?: string;
  object?: unknown;
}

// A content is in parts or in its short form; read() fills the short form in.
export interface UserContent {
  parts?: ContentPart[];
  text: string;
  files?: ID[];
  links?: string[];
  search?: boolean;
  think?: boolean;
}
export interface AssistantContent {
  text: string;
  reasoning?: string;
  refusal?: string;
}
export interface ToolCallContent {
  id: string;
  name: string;
  arguments: Record<string, unknown> | null;
  arguments_text?: string;
}
export interface ToolResultContent {
  result?: unknown;
  error: string | null;
  success: boolean;
  execution_time_ms: number | null;
}

export interface Message {
  id: ID;
  session_id: ID;
  sequence: number | null;
  position: number | null;
  turn_id: ID | null;
  step: number;
  role: Role;
  status: MessageStatus;
  author: Author;
  content: UserContent & AssistantContent & ToolCallContent & ToolResultContent;
  tool_call_id: string | null;
  tool_name: string | null;
  covers_through: number | null;
  internal: boolean;
  steer: boolean;
  model: string | null;
  usage: Usage | null;
  error: Failure | null;
  metadata: Record<string, unknown>;
  marks: Marks;
  created_at: string;
  updated_at: string;
}

export interface Marks {
  pinned: boolean;
  context_edge: boolean;
  set_aside: boolean;
}

export interface Turn {
  id: ID;
  session_id: ID;
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  wait_reason: WaitReason | null;
  attempt: number;
  step: number;
  error: Failure | null;
  usage: Tokens;
  cost: number | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface ManifestRange {
  from: number;
  to: number;
  except: number[] | null;
  reason: string;
}

export interface Call extends Omit<FieldSettings, 'approval_timeout'> {
  id: ID;
  session_id: ID;
  turn_id: ID | null;
  message_id: ID | null;
  step: number;
  attempt: number;
  purpose: string | null;
  provider: string;
  model: string;
  manifest: { policy: string; ranges: ManifestRange[] };
  request_hash: string;
  usage: Usage;
  cost: number | null;
  finish_reason: string | null;
  outcome: 'open' | 'completed' | 'failed' | 'cancelled' | 'interrupted';
  error: Failure | null;
  created_at: string;
  first_token_ms: number | null;
  total_ms: number | null;
}

export type PartKind = 'tool' | 'system' | 'summary' | 'context_note' | 'message' | 'parameters';

export interface Part {
  kind: PartKind;
  name: string | null;
  sequence: number | null;
  message_id: ID | null;
  pinned: boolean;
  role: string | null;
  reason: string;
  bytes: number;
  tokens: number;
  span: { offset: number; length: number } | null; // in the request, bytes
  cached_tokens: number | null;
}

export interface LeftOut {
  from: number;
  to: number;
  count: number;
  tokens: number | null;
  reason: string;
}

// Explanation is a request taken apart. request is its text, byte by byte.
export interface Explanation {
  request: string;
  parts: Part[];
  estimated_tokens: number;
  left_out: LeftOut[];
  window: { used: number; context_length: number | null; max_output: number | null; share: number | null };
}

// ContextPreview is what the next call would be shown.
export interface ContextPreview extends Explanation {
  model: string;
  policy: string;
  refused: string | null;
  cache: { with_id: ID | null; tokens: number; share: number; likely: boolean; says: string };
  cost: { input: number | null; input_cached: number | null; output_most: number | null; output_tokens_most: number };
}

export interface CallDetail extends Call, Explanation {
  system_prompt: string;
  tools: unknown[];
  exact: boolean;
  reason: string | null;
  costs: { input: number; cached: number; cache_write: number; output: number; saved: number; current: boolean } | null;
}

export interface CallDiff {
  call_id: ID;
  with_id: ID | null;
  identical: boolean;
  first_difference: { offset: number; kind: PartKind; name: string | null; sequence: number | null; was: string; is: string } | null;
  shared: { bytes: number; of_bytes: number; tokens: number; of_tokens: number; messages: number } | null;
  changes: { cause: string; says: string; breaks_prefix: boolean; lines: { sign: '+' | '-'; line: number; text: string }[]; names: string[] }[];
  cache: { reason: string | null; says: string; cached_tokens: number | null; possible_tokens: number };
}

export interface Approval {
  id: ID;
  session_id: ID;
  root_id: ID;
  turn_id: ID;
  message_id: ID;
  tool_call_id: string;
  tool_name: string;
  arguments: unknown;
  fingerprint: string;
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';
  comment: string | null;
  scope: 'once' | 'session' | 'change' | null;
  reason: 'rule' | 'agent_changed' | 'tool_changed';
  explanation: string | null;
  approvers: number;
  missing: number;
  approved_by: { id: ID; name: string }[];
  requester_ids: ID[];
  decided_at: string | null;
  created_at: string;
  expires_at: string;
}

export interface ModelInfo {
  id: string;
  provider: string;
  name: string;
  simulator: boolean;
  known: boolean;
  reasoning: boolean;
  caching: boolean;
  tools: boolean;
  vision: boolean;
  context_length: number;
  max_output: number;
  price: { input: number; output: number; cached_input: number } | null;
}

export interface ProviderInfo {
  name: string;
  configured: boolean;
  key_env: string;
  default_model: string | null;
  simulator: boolean;
  models: number;
}

export interface ToolInfo {
  name: string;
  description: string;
  source: string;
  annotations: { read_only: boolean; idempotent: boolean; destructive: boolean; open_world: boolean };
  unusable: string | null;
}

export interface Project {
  id: ID;
  path: string;
  name: string;
  icon: string;
  created_at: string;
  last_access_at: string;
}

// Directories is a directory with those in it; without a path, the roots that projects may lie in.
export interface Directories {
  path: string | null;
  root: string | null;
  parent: string | null;
  project_id: ID | null;
  data: { name: string; path: string; project_id: ID | null }[];
  truncated: boolean;
}

export interface FileInfo {
  id: ID;
  name: string;
  media_type: string;
  size: number;
  created_at: string;
}

export interface Principal {
  id: ID;
  workspace: string;
  name: string;
  kind: string;
  role: 'admin' | 'member' | 'reader';
  may_choose_directories: boolean;
  sign_in_id: ID | null;
}

// SignIn is a browser that is signed in.
export interface SignIn {
  id: ID;
  principal_id: ID;
  principal_name: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
}

export interface Key {
  id: ID;
  name: string;
  prefix: string;
  role: string;
  created_at: string;
  revoked_at: string | null;
}

export interface AuditEntry {
  id: ID;
  principal_id: ID;
  principal_name: string;
  action: string;
  session_id: ID | null;
  target_id: ID | null;
  at: string;
  request_id: string;
}

// Snippet is a piece of a text; marks are what was found in it, [from, to) in code points.
export interface Snippet {
  text: string;
  marks: [number, number][];
}

// SearchHit is a message that was found, or a title (then message is null).
export interface SearchHit {
  session: Pick<Session, 'id' | 'title' | 'agent_id' | 'project_id' | 'status' | 'archived_at'>;
  message: Pick<Message, 'id' | 'role' | 'author' | 'tool_name' | 'created_at'> & { sequence: number } | null;
  snippet: Snippet;
  score: number;
}

export interface SearchResult extends Page<SearchHit> {
  complete: boolean; // false while an index is being built
}

// UsageRow sums up calls: of a day, an agent, a model or a session.
export interface UsageRow extends Tokens {
  agent_id: ID | null;
  session_id: ID | null;
  day: string | null;
  model: string | null;
  name: string | null;
  calls: number;
  cost: number;
  unpriced_calls: number;
  cache_hits: number;
  cache_write_tokens: number;
  saved: number;
}
