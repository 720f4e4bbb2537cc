package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"example.org/parley"
	"example.org/parley/model"
)

// AgentInput is a new agent: only Name is needed.
type AgentInput struct {
	Name        string `json:"name"`
	Slug        string `json:"slug,omitempty"`
	Description string `json:"description,omitempty"`
	Runtime     string `json:"runtime,omitempty"`
	parley.Settings
	Tags   []string  `json:"tags,omitempty"`
	LeadID parley.ID `json:"lead_id,omitzero"`
}

// AgentPatch changes an agent: what it does not set stays.
type AgentPatch struct {
	Name        parley.Change[string] `json:"name,omitzero"`
	Slug        parley.Change[string] `json:"slug,omitzero"`
	Description parley.Change[string] `json:"description,omitzero"`
	Runtime     parley.Change[string] `json:"runtime,omitzero"`
	parley.SettingsPatch
	Tags    parley.Change[[]string]           `json:"tags,omitzero"`
	LeadID  parley.Change[parley.ID]          `json:"lead_id,omitzero"`
	Status  parley.Change[parley.AgentStatus] `json:"status,omitzero"`
	OwnerID parley.Change[parley.ID]          `json:"owner_id,omitzero"` // for admins; zero leaves it to them
}

// ToolNames are tools of the server by their names.
func ToolNames(names ...string) []parley.ToolRef {
	refs := make([]parley.ToolRef, len(names))
	for i, name := range names {
		refs[i].Name = name
	}
	return refs
}

// SessionInput is a new session; an empty one is an agent parley's.
type SessionInput struct {
	Agent        string   `json:"agent_id,omitempty"` // id or slug
	Title        string   `json:"title,omitempty"`
	Key          string   `json:"key,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	parley.Settings
	Message *MessageInput `json:"message,omitempty"`
}

// SessionPatch changes a session: what it does not set stays.
type SessionPatch struct {
	Title        parley.Change[string]   `json:"title,omitzero"`
	Instructions parley.Change[string]   `json:"instructions,omitzero"`
	Tags         parley.Change[[]string] `json:"tags,omitzero"`
	parley.SettingsPatch
}

// MessageInput is a user message.
type MessageInput struct {
	Role    parley.Role        `json:"role"`
	Content parley.UserContent `json:"content"`
	parley.Settings
	During parley.During `json:"during,omitempty"`

	DryRun      bool                    `json:"dry_run,omitempty"` // see Client.DryRun
	ToolResults []parley.ScriptedResult `json:"tool_results,omitempty"`
}

// UserMessage makes a MessageInput of plain text.
func UserMessage(text string) MessageInput {
	return MessageInput{Role: parley.RoleUser, Content: parley.UserContent{Text: text}}
}

// KeyInput is a new API key.
type KeyInput struct {
	Name      string               `json:"name"`
	Workspace string               `json:"workspace,omitempty"`
	Role      parley.PrincipalRole `json:"role,omitempty"`

	RequestsPerMinute int   `json:"requests_per_minute,omitempty"` // 0: not limited
	MaxSessions       int64 `json:"max_sessions,omitempty"`        // that it may own; 0: not limited
	// bytes of files that it may have uploaded; 0: not limited
	MaxStorage int64 `json:"max_storage,omitempty"`
}

// CreatedKey is a key with its secret, which is shown this once.
type CreatedKey struct {
	Secret string `json:"key"`
	parley.Key
}

// CancelInput asks for a cancel.
type CancelInput struct {
	Queued bool `json:"queued,omitempty"` // the queued turns too
}

// Cancelled is the answer to a cancel.
type Cancelled struct {
	Turn    parley.Turn `json:"turn"`
	Settled []parley.ID `json:"settled"`
	By      string      `json:"by"` // holder or canceller
}

// CreateAgent makes an agent.
func (c *Client) CreateAgent(ctx context.Context, input AgentInput) (parley.Agent, error) {
	return call[AgentInput, parley.Agent](ctx, c, http.MethodPost, "/v1/agents", nil, &input, nil)
}

// Agent finds an agent by id or slug.
func (c *Client) Agent(ctx context.Context, idOrSlug string) (parley.Agent, error) {
	return read[parley.Agent](ctx, c, "/v1/agents/"+url.PathEscape(idOrSlug), nil)
}

// Agents lists agents; query holds the list parameters of the API.
func (c *Client) Agents(ctx context.Context, query url.Values) (Page[parley.Agent], error) {
	return read[Page[parley.Agent]](ctx, c, "/v1/agents", query)
}

// UpdateAgent changes an agent.
func (c *Client) UpdateAgent(ctx context.Context, idOrSlug string, patch AgentPatch) (parley.Agent, error) {
	return call[AgentPatch, parley.Agent](
		ctx,
		c,
		http.MethodPatch,
		"/v1/agents/"+url.PathEscape(idOrSlug),
		nil,
		&patch,
		nil,
	)
}

// ArchiveAgent archives an agent.
func (c *Client) ArchiveAgent(ctx context.Context, idOrSlug string) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/agents/"+url.PathEscape(idOrSlug), nil, nil, nil)
	return err
}

// CreateSession makes a session, or finds the one with its key.
func (c *Client) CreateSession(ctx context.Context, input SessionInput) (parley.Session, error) {
	return call[SessionInput, parley.Session](ctx, c, http.MethodPost, "/v1/sessions", nil, &input, nil)
}

// UpdateSession changes a session.
func (c *Client) UpdateSession(ctx context.Context, id parley.ID, patch SessionPatch) (parley.Session, error) {
	return call[SessionPatch, parley.Session](ctx, c, http.MethodPatch, "/v1/sessions/"+id.String(), nil, &patch, nil)
}

// Session finds a session.
func (c *Client) Session(ctx context.Context, id parley.ID) (parley.Session, error) {
	return read[parley.Session](ctx, c, "/v1/sessions/"+id.String(), nil)
}

// ExportSession is a session as one file, json or markdown. The caller closes it.
func (c *Client) ExportSession(ctx context.Context, id parley.ID, format string) (io.ReadCloser, error) {
	response, err := c.request(
		ctx,
		http.MethodGet,
		"/v1/sessions/"+id.String()+"/export",
		url.Values{"format": {format}},
		nil,
		nil,
	)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// SessionTree reads a session and the tool sessions below it.
func (c *Client) SessionTree(ctx context.Context, id parley.ID) (parley.Tree, error) {
	return read[parley.Tree](ctx, c, "/v1/sessions/"+id.String()+"/tree", nil)
}

// Sessions lists sessions, last activity first.
func (c *Client) Sessions(ctx context.Context, query url.Values) (Page[parley.Session], error) {
	return read[Page[parley.Session]](ctx, c, "/v1/sessions", query)
}

// DeleteSession purges a session.
func (c *Client) DeleteSession(ctx context.Context, id parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/sessions/"+id.String(), nil, nil, nil)
	return err
}

// Messages lists a session's messages in order.
func (c *Client) Messages(ctx context.Context, session parley.ID, query url.Values) (Page[parley.Message], error) {
	return read[Page[parley.Message]](ctx, c, "/v1/sessions/"+session.String()+"/messages", query)
}

// Turns lists a session's turns, newest first.
func (c *Client) Turns(ctx context.Context, session parley.ID, query url.Values) (Page[parley.Turn], error) {
	return read[Page[parley.Turn]](ctx, c, "/v1/sessions/"+session.String()+"/turns", query)
}

// Calls lists a session's model calls, newest first.
func (c *Client) Calls(ctx context.Context, session parley.ID, query url.Values) (Page[parley.Call], error) {
	return read[Page[parley.Call]](ctx, c, "/v1/sessions/"+session.String()+"/calls", query)
}

// Posted is a recorded message, and where its events begin.
type Posted struct {
	Message       parley.Message
	EventSequence int64 // watch after it and miss nothing
}

// PostMessage records a message; a user message starts a turn. A non-empty key
// makes the post safe to repeat.
func (c *Client) PostMessage(ctx context.Context, session parley.ID, input MessageInput, key string) (Posted, error) {
	ctx, cancel := context.WithTimeout(ctx, answerDeadline)
	defer cancel()
	body, err := json.Marshal(input)
	if err != nil {
		return Posted{}, parley.WrapError(parley.CodeInvalid, err, "the message cannot be encoded")
	}
	response, err := c.request(
		ctx,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/messages",
		nil,
		body,
		keyHeader(key),
	)
	if err != nil {
		return Posted{}, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	var posted Posted
	if err := json.NewDecoder(response.Body).Decode(&posted.Message); err != nil {
		return Posted{}, parley.WrapError(parley.CodeUnavailable, err, "the server's answer broke off")
	}
	posted.EventSequence, err = strconv.ParseInt(response.Header.Get("Parley-Event-Sequence"), 10, 64)
	if err != nil {
		return Posted{}, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the server's answer lacks Parley-Event-Sequence",
		)
	}
	return posted, nil
}

func keyHeader(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Idempotency-Key": {key}}
}

// Cancel stops the session's running turn; the session stays usable.
func (c *Client) Cancel(ctx context.Context, session parley.ID, input CancelInput) (Cancelled, error) {
	return call[CancelInput, Cancelled](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/cancel",
		nil,
		&input,
		nil,
	)
}

// ClearContext empties what the model sees of a session: its window begins at the
// next message. The record stays.
func (c *Client) ClearContext(ctx context.Context, session parley.ID) (parley.Session, error) {
	return call[struct{}, parley.Session](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/clear",
		nil,
		nil,
		nil,
	)
}

// CreateKey makes an API key.
func (c *Client) CreateKey(ctx context.Context, input KeyInput) (CreatedKey, error) {
	return call[KeyInput, CreatedKey](ctx, c, http.MethodPost, "/v1/keys", nil, &input, nil)
}

// Keys lists a workspace's keys.
func (c *Client) Keys(ctx context.Context) (Page[parley.Key], error) {
	return read[Page[parley.Key]](ctx, c, "/v1/keys", nil)
}

// RevokeKey ends a key.
func (c *Client) RevokeKey(ctx context.Context, id parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/keys/"+id.String(), nil, nil, nil)
	return err
}

// SignIns lists the browsers that are signed in: one's own, to admins the workspace's.
func (c *Client) SignIns(ctx context.Context) (Page[parley.SignIn], error) {
	return read[Page[parley.SignIn]](ctx, c, "/v1/sign-ins", nil)
}

// EndSignIn ends the sign-in of a browser.
func (c *Client) EndSignIn(ctx context.Context, id parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/sign-ins/"+id.String(), nil, nil, nil)
	return err
}

// Audit lists who did what; query holds the list parameters of the API.
func (c *Client) Audit(ctx context.Context, query url.Values) (Page[parley.AuditEntry], error) {
	return read[Page[parley.AuditEntry]](ctx, c, "/v1/audit", query)
}

// Anchor is the end of the audit's chain.
func (c *Client) Anchor(ctx context.Context) (parley.Anchor, error) {
	return read[parley.Anchor](ctx, c, "/v1/audit/anchor", nil)
}

// VerifyInput asks for a step of a verification.
type VerifyInput struct {
	Place  parley.VerifyPlace `json:"place"`
	Anchor *parley.Anchor     `json:"anchor,omitempty"`
}

// Verify makes a step of a verification of the server's store, however long it takes.
func (c *Client) Verify(ctx context.Context, input VerifyInput) (parley.VerifyStep, error) {
	return lasting[VerifyInput, parley.VerifyStep](ctx, c, "/v1/verify", &input)
}

// WarmAgent sends what all requests of an agent begin with to its provider once.
func (c *Client) WarmAgent(ctx context.Context, idOrSlug string) (parley.Warmed, error) {
	return call[none, parley.Warmed](
		ctx,
		c,
		http.MethodPost,
		"/v1/agents/"+url.PathEscape(idOrSlug)+"/warm",
		nil,
		nil,
		nil,
	)
}

// UsageReport is what calls to models took in a span of time, by group.
type UsageReport struct {
	Group parley.UsageGroup `json:"group"`
	From  parley.Time       `json:"from"`
	To    parley.Time       `json:"to"`
	Total parley.UsageSum   `json:"total"`
	Data  []parley.UsageSum `json:"data"`
}

// Usage sums up calls to models, by group (agent, model, session or day).
func (c *Client) Usage(ctx context.Context, query url.Values) (UsageReport, error) {
	return read[UsageReport](ctx, c, "/v1/usage", query)
}

// ResponseCache tells what the workspace's response cache holds and saved.
func (c *Client) ResponseCache(ctx context.Context) (parley.ResponseCacheState, error) {
	return read[parley.ResponseCacheState](ctx, c, "/v1/cache", nil)
}

// ClearResponseCache drops all answers that it holds.
func (c *Client) ClearResponseCache(ctx context.Context) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/cache", nil, nil, nil)
	return err
}

// Budget is what a session with its tool sessions, and its agent, may spend and
// have spent.
type Budget struct {
	SessionID parley.ID     `json:"session_id"` // the root of a tool session's tree
	AgentID   parley.ID     `json:"agent_id"`
	Limits    parley.Limits `json:"limits"` // in effect, but for the agent's daily ones
	Session   Spending      `json:"session"`
	Agent     *Spending     `json:"agent"` // nil unless tokens or money of the agent are limited
}

// Spending is what was spent of a budget; Reserved is what calls under way hold.
type Spending struct {
	DailyTokens    *int64        `json:"daily_tokens"` // the limits per UTC day
	DailyCost      *parley.Money `json:"daily_cost"`
	Tokens         int64         `json:"tokens"`
	Cost           parley.Money  `json:"cost"`
	TodayTokens    int64         `json:"today_tokens"`
	TodayCost      parley.Money  `json:"today_cost"`
	ReservedTokens int64         `json:"reserved_tokens"`
	ReservedCost   parley.Money  `json:"reserved_cost"`
	DayEndsAt      parley.Time   `json:"day_ends_at"`
}

// Budget reads what a session may spend and has spent.
func (c *Client) Budget(ctx context.Context, id parley.ID) (Budget, error) {
	return read[Budget](ctx, c, "/v1/sessions/"+id.String()+"/budget", nil)
}

// Providers lists the providers that the server has or could have.
func (c *Client) Providers(ctx context.Context) (Page[model.ProviderInfo], error) {
	return read[Page[model.ProviderInfo]](ctx, c, "/v1/providers", nil)
}
