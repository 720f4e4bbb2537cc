// The API's JSON under the names that the page uses; schema.ts has all of it, as the server describes it.

import type * as api from './schema';

export type {
  Agent, Approval, Artifact, ArtifactDiff, ArtifactVersion, AuditEntry, Author, Call, CallDiff, ChangeCost, ChangeInput, Compaction, Delegation, DiffLine, Directories, Failure, Imported, InboxItem, JsonEdit, Key, KnowledgeItem, LeftOut, Lineage, LineageEdge, LineageNode, ManifestRange,
  Marks, ModelInfo, Outlook, Part, PipelineNodeRun, PipelineRun, Policy, Preview, Project, ProviderInfo, Refresh, Schedule, ScheduleRun, Session, SessionClient, SignIn, Snippet, SearchHit, Statistics,
  Team, TeamLead, TeamMember, TextHunk, Tokens, ToolInfo, ToolServer, ToolServerRequest, Transform, Tree, TreeNode, TreeTotal, Turn, Usage, UserContent, AssistantContent, ToolCallContent,
  ToolResultContent, Workspace,
} from './schema';

export type ID = string;
export type ContentPart = NonNullable<api.UserContent['parts']>[number];
export type SessionStatus = api.Session['status'];
export type WaitReason = NonNullable<api.Session['wait_reason']>;
export type During = NonNullable<api.Session['during']>;
export type Role = api.Message['role'];
export type MessageStatus = api.Message['status'];
export type PartKind = api.Part['kind'];
export type ToolRef = api.Agent['tools'][number];
export type FileInfo = api.File;
export type Principal = api.WhoAmI;
export type SearchResult = api.SearchResults;
export type UsageRow = api.UsageSum;

export interface Page<T> {
  data: T[];
  next: string | null;
}

// Message leaves the content's members open: api.Message tells them apart by role, which the page seldom needs.
export type Message = Omit<api.Message, 'content'> & { content: api.MessageContent };

// Exact is a response whose request is kept as text, byte by byte.
type Exact<T> = Omit<T, 'request'> & { request: string };

export type CallDetail = Exact<api.CallDetail>;
export type ContextPreview = Exact<api.Preview>;
export type Explanation = Pick<ContextPreview, 'request' | 'parts' | 'estimated_tokens' | 'left_out' | 'window'>;
