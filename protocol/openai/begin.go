package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/store"
)

// The bounds of beginning a turn.
const (
	maxRecorded    = 1000 // messages of a history that the server does not know, and records
	maxAnswerPages = 32   // of a turn that are read to find out what its client has seen
)

// continueText begins a turn whose history ends with results that no waiting turn asked for: a turn needs a message.
const continueText = "Go on: the results of your tools are above."

// idempotencyHeader makes a request safe to repeat.
const idempotencyHeader = "Idempotency-Key"

// chat is a request on its way to its turn.
type chat struct {
	x        *protocol.Exchange
	metadata map[string]string // of each message of the user
	search   bool              // the turn may search the web
	note     json.RawMessage   // the metadata of the message that begins or resumes the turn, instead; nil for none
	agent    parley.Agent
	settings parley.Settings
	history
	body       []byte
	operations int      // so far, each with an idempotency key of its own
	tags       []string // of a session that is begun; a fork has its parent's unless there are any, even none
	keeps      bool     // what is recorded is wanted
	kept       []parley.Message
	names      []parley.ForeignID // to be kept: the positions that the request adds
}

// begun is a turn that a request began or resumed.
type begun struct {
	session, turn parley.ID
	event         int64 // the session's last event before
	sequence      int64 // of the last message that the client sent; 0 while it is queued

	waits parley.WaitReason // what the turn still waits for: not all of its calls have results; "" if it continues

	last  parley.Message // the one that began or resumed the turn
	state *parley.Turn   // as that left it
}

// point is a position of a history in a session's record.
type point struct {
	session, message parley.ID
	at               int // index in said
}

// begin finds the session of a history, adds what is new, and returns its turn.
func (a *api) begin(ctx context.Context, c *chat) (begun, error) {
	if named := c.x.R.Header.Get(SessionHeader); named != "" {
		return a.beginIn(ctx, c, named)
	}
	known, err := a.recognise(ctx, c)
	switch {
	case err != nil:
		return begun{}, err
	case known == nil:
		return a.beginNew(ctx, c)
	case known.at < c.first-1:
		return a.beginFork(ctx, c, *known)
	}
	last, err := a.engine.Message(ctx, c.x.Principal, known.message)
	if err != nil {
		return begun{}, err
	}
	turn, err := a.goOn(ctx, c, known.session, last.Sequence)
	switch code := parley.ErrorCode(err); {
	case code == parley.CodeChanged, code == parley.CodeBusy, code == parley.CodeArchived:
		return a.beginFork(ctx, c, *known) // another client has continued from here
	case code == parley.CodeConflict && c.results():
		return a.beginNew(ctx, c) // the calls have other results, or their turn is over
	}
	return turn, err
}

// beginIn continues the session that the client names with what is new.
func (a *api) beginIn(ctx context.Context, c *chat, named string) (begun, error) {
	id, err := parley.ParseID(named)
	if err != nil {
		return begun{}, parley.InvalidField(SessionHeader, "is not a session's id")
	}
	session, err := a.engine.Session(ctx, c.x.Principal, id)
	if err != nil {
		return begun{}, err
	}
	if session.AgentID != c.agent.ID {
		return begun{}, parley.InvalidField(SessionHeader, "names a session of another agent than model does")
	}
	return a.goOn(ctx, c, id, 0)
}

// recognise finds the longest beginning of the history that one session has; nil if none has it, or several.
func (a *api) recognise(ctx context.Context, c *chat) (*point, error) {
	var names []string
	for i := c.first - 1; i >= 0 && len(names) < parley.MaxForeignIDsAtOnce; i-- {
		names = append(names, c.after[i].String())
	}
	if len(names) == 0 {
		return nil, nil
	}
	found, err := a.engine.ForeignIDs(ctx, c.x.Principal, foreignProtocol, names)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	at := c.first - 1
	for c.after[at].String() != found[0].Name {
		at--
	}
	// The answer behind the known question may have ended without the process that would have noted it.
	if at == c.first-2 {
		var same []point
		for i := range found {
			last, err := a.answeredWith(ctx, c, &found[i], at)
			if err != nil {
				return nil, err
			}
			if !last.IsZero() {
				same = append(same, point{found[i].SessionID, last, at + 1})
				c.name(at+1, last)
			}
		}
		if len(same) == 1 {
			return &same[0], nil
		}
		c.names = nil
	}
	if len(found) > 1 {
		return nil, nil
	}
	return &point{found[0].SessionID, found[0].TargetID, at}, nil
}

// answeredWith returns the last message of what a session answered to a known question, if it is what the client says
// was answered; else zero.
func (a *api) answeredWith(ctx context.Context, c *chat, known *parley.ForeignID, at int) (parley.ID, error) {
	asked, err := a.engine.Message(ctx, c.x.Principal, known.TargetID)
	if err != nil || asked.TurnID.IsZero() {
		return parley.ID{}, err
	}
	seen, err := a.seen(ctx, c.x.Principal, begun{
		session: asked.SessionID, turn: asked.TurnID, sequence: asked.Sequence,
	})
	if parley.ErrorCode(err) == parley.CodeTooLarge {
		return parley.ID{}, nil // no client has seen it
	}
	if err != nil {
		return parley.ID{}, err
	}
	said := answered(seen.text, seen.refusal, seen.calls)
	if said.hash(c.after[at]) != c.after[at+1] {
		return parley.ID{}, nil
	}
	return seen.last, nil
}

// name notes which message of the record corresponds to the history up to an index.
func (c *chat) name(at int, message parley.ID) {
	if c.after == nil { // it is named by its id
		return
	}
	c.names = append(c.names, parley.ForeignID{
		Protocol: foreignProtocol, Name: c.after[at].String(), TargetID: message,
	})
}

// once is the idempotency of the request's next operation: its own key, numbered if there are several.
func (c *chat) once() store.Idempotency {
	key := c.x.R.Header.Get(idempotencyHeader)
	if key == "" {
		return store.Idempotency{}
	}
	if c.operations++; c.operations > 1 {
		key = fmt.Sprintf("%s/%d", key, c.operations)
	}
	return c.x.Call.Idempotency(key, Prefix, c.body)
}

// goOn adds the new messages to a session. follows is the sequence that the session's last message must have; 0: any.
func (a *api) goOn(ctx context.Context, c *chat, session parley.ID, follows int64) (begun, error) {
	defer a.streams.Expect(session).Close()
	if c.said[c.first].Role != "tool" {
		return a.post(ctx, c, session, c.first, follows)
	}
	results := c.first
	for results < len(c.said) && c.said[results].Role == "tool" {
		results++
	}
	for i := results; i < len(c.said); i++ { // said beside the results: the turn hears it at its next step
		input, err := a.userInput(ctx, c, i)
		if err != nil {
			return begun{}, err
		}
		input.During = parley.DuringSteer
		posted, err := a.engine.PostMessage(ctx, c.x.Principal, session, input, c.once())
		if err != nil {
			return begun{}, err
		}
		c.name(i, posted.Message.ID)
	}
	var first *store.Posted
	var turn begun
	for i := c.first; i < results; i++ {
		input := resultInput(&c.said[i])
		if i == results-1 {
			input.Metadata = c.note
		}
		posted, err := a.engine.PostMessage(ctx, c.x.Principal, session, input, c.once())
		if err != nil {
			return begun{}, err
		}
		c.name(i, posted.Message.ID)
		if first == nil {
			first = &posted
		}
		turn = begun{session: session, turn: posted.Message.TurnID, event: first.EventSequence,
			sequence: posted.Message.Sequence, last: posted.Message, state: posted.Turn}
		if posted.Turn != nil && posted.Turn.Status == parley.TurnWaiting {
			turn.waits = posted.Turn.WaitReason
		}
	}
	return turn, nil
}

// post records said[from:] in a session that has everything before, and begins a turn with the last of it.
func (a *api) post(ctx context.Context, c *chat, session parley.ID, from int, follows int64) (begun, error) {
	last := len(c.said) - 1
	for i := from; i < last; i++ {
		if err := a.record(ctx, c, session, i, follows); err != nil {
			return begun{}, err
		}
		follows = 0
	}
	var input engine.MessageInput
	var err error
	if c.said[last].Role == "tool" {
		if err := a.record(ctx, c, session, last, follows); err != nil {
			return begun{}, err
		}
		follows = 0
		input, err = c.trigger(parley.UserContent{Text: continueText})
		if c.note != nil {
			input.Metadata = c.note
		}
	} else {
		input, err = a.lastInput(ctx, c)
	}
	if err != nil {
		return begun{}, err
	}
	if input.Follows = follows; follows > 0 {
		input.During = parley.DuringReject
	}
	posted, err := a.engine.PostMessage(ctx, c.x.Principal, session, input, c.once())
	if err != nil {
		return begun{}, err
	}
	if c.said[last].Role != "tool" {
		c.name(last, posted.Message.ID)
	}
	return begunBy(&posted), nil
}

// begunBy is the turn of a post.
func begunBy(posted *store.Posted) begun {
	m := &posted.Message
	return begun{
		session: m.SessionID, turn: m.TurnID, event: posted.EventSequence, sequence: m.Sequence, last: *m,
		state: posted.Turn,
	}
}

// beginFork leaves a session where the history diverges from it.
func (a *api) beginFork(ctx context.Context, c *chat, known point) (begun, error) {
	from := known.at + 1
	if c.said[from].Role == "tool" { // a fork begins behind a whole answer, with the results that it got
		return a.beginNew(ctx, c)
	}
	c.names = nil
	fork := engine.ForkInput{At: known.message}
	whole := from == len(c.said)-1
	if whole {
		input, err := a.lastInput(ctx, c)
		if err != nil {
			return begun{}, err
		}
		fork.Message = &input
	}
	opened, err := a.engine.Fork(ctx, c.x.Principal, known.session, fork, c.once())
	if err != nil {
		return begun{}, err
	}
	if c.tags != nil {
		patch := engine.SessionPatch{}
		patch.Tags.Set, patch.Tags.Value = true, c.tags
		if _, err := a.engine.UpdateSession(ctx, c.x.Principal, opened.Session.ID, patch); err != nil {
			return begun{}, err
		}
	}
	if whole {
		c.name(from, opened.Posted.Message.ID)
		return begunBy(opened.Posted), nil
	}
	return a.post(ctx, c, opened.Session.ID, from, 0)
}

// beginNew opens a session, and records in it what the client says was said.
func (a *api) beginNew(ctx context.Context, c *chat) (begun, error) {
	c.names = nil
	if len(c.said) > maxRecorded {
		return begun{}, parley.InvalidField(
			"messages",
			"the server does not know this history, and records at most %d messages of one",
			maxRecorded,
		)
	}
	input := engine.SessionInput{AgentID: c.agent.ID.String(), Tags: c.tags}
	whole := len(c.said) == 1 && c.said[0].Role == "user"
	if whole {
		first, err := a.lastInput(ctx, c)
		if err != nil {
			return begun{}, err
		}
		input.Message = &first
	}
	opened, err := a.engine.OpenSession(ctx, c.x.Principal, input, c.once())
	if err != nil {
		return begun{}, err
	}
	if whole {
		c.name(0, opened.Posted.Message.ID)
		return begunBy(opened.Posted), nil
	}
	return a.post(ctx, c, opened.Session.ID, 0, 0)
}

// record adds a message to a session without a turn.
func (a *api) record(ctx context.Context, c *chat, session parley.ID, at int, follows int64) error {
	m := &c.said[at]
	var inputs []engine.MessageInput
	switch m.Role {
	case "user":
		input, err := a.userInput(ctx, c, at)
		if err != nil {
			return err
		}
		input.Settings, input.Respond = parley.Settings{}, new(bool)
		inputs = append(inputs, input)
	case "tool":
		inputs = append(inputs, resultInput(m))
	case "assistant":
		if text := m.text(); text != "" || len(m.ToolCalls) == 0 {
			content, err := parley.EncodeContent(parley.AssistantContent{Text: text, Refusal: m.refusal()})
			if err != nil {
				return err
			}
			inputs = append(inputs, engine.MessageInput{Role: parley.RoleAssistant, Content: content})
		}
		for i := range m.ToolCalls {
			content, err := parley.EncodeContent(m.ToolCalls[i].content())
			if err != nil {
				return err
			}
			inputs = append(inputs, engine.MessageInput{Role: parley.RoleToolCall, Content: content})
		}
	}
	for _, input := range inputs {
		input.Follows, follows = follows, 0
		posted, err := a.engine.PostMessage(ctx, c.x.Principal, session, input, c.once())
		if err != nil {
			return within(fmt.Sprintf("messages[%d]", at), err)
		}
		if c.keeps {
			c.kept = append(c.kept, posted.Message)
		}
		if len(c.names) > 0 && c.names[len(c.names)-1].Name == c.after[at].String() {
			c.names[len(c.names)-1].TargetID = posted.Message.ID
		} else {
			c.name(at, posted.Message.ID)
		}
	}
	return nil
}

// trigger is a user's message with the request's settings.
func (c *chat) trigger(content parley.UserContent) (engine.MessageInput, error) {
	encoded, err := parley.EncodeContent(content)
	if err != nil {
		return engine.MessageInput{}, err
	}
	input := engine.MessageInput{Role: parley.RoleUser, Content: encoded, Settings: c.settings}
	if len(c.metadata) > 0 {
		input.Metadata, err = parley.EncodeJSON(c.metadata)
	}
	return input, err
}

// lastInput is the user's message that begins the turn.
func (a *api) lastInput(ctx context.Context, c *chat) (engine.MessageInput, error) {
	input, err := a.userInput(ctx, c, len(c.said)-1)
	if c.note != nil {
		input.Metadata = c.note
	}
	return input, err
}

// userInput is a user's message; its images and files are uploaded first.
func (a *api) userInput(ctx context.Context, c *chat, at int) (engine.MessageInput, error) {
	m := &c.said[at]
	content := parley.UserContent{Search: c.search}
	plain := true
	for i := range m.parts {
		plain = plain && m.parts[i].Type == "text"
	}
	if plain {
		content.Text = m.text()
		return c.trigger(content)
	}
	for i := range m.parts {
		part, err := a.partOf(ctx, c.x.Principal, &m.parts[i])
		if err != nil {
			return engine.MessageInput{}, within(fmt.Sprintf("messages[%d].content[%d]", at, i), err)
		}
		content.Parts = append(content.Parts, part)
	}
	return c.trigger(content)
}

// partOf is a part as the record keeps it: bytes become files.
func (a *api) partOf(ctx context.Context, principal parley.Principal, p *part) (parley.Part, error) {
	var name, data string
	switch {
	case p.ImageURL != nil:
		if !strings.HasPrefix(p.ImageURL.URL, "data:") {
			link, err := url.Parse(p.ImageURL.URL)
			if err != nil || link.Scheme != "https" && link.Scheme != "http" {
				return parley.Part{}, parley.InvalidField("image_url", "must be a data URL, or one of http or https")
			}
			return parley.Part{Type: parley.PartLink, URL: p.ImageURL.URL}, nil
		}
		name, data = "image", p.ImageURL.URL
	case p.File != nil:
		name, data = p.File.Name, p.File.Data
		if name == "" {
			name = "file"
		}
	case p.Audio != nil:
		name, data = "audio."+p.Audio.Format, p.Audio.Data
	default:
		return parley.Part{Type: parley.PartText, Text: p.Text}, nil
	}
	if meta, encoded, ok := strings.Cut(data, ","); ok && strings.HasPrefix(meta, "data:") {
		if !strings.HasSuffix(meta, ";base64") {
			return parley.Part{}, parley.InvalidField("url", "must be a data URL in base64")
		}
		data = encoded
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return parley.Part{}, parley.InvalidField("data", "is not base64")
	}
	file, _, err := a.engine.UploadFile(ctx, principal, name, bytes.NewReader(raw))
	if err != nil {
		return parley.Part{}, err
	}
	return parley.FilePart(file), nil
}

// resultInput is the result of a client's tool.
func resultInput(m *message) engine.MessageInput {
	text := m.text()
	result, err := json.Marshal(text)
	if err != nil { // a text always encodes
		panic(err)
	}
	content, err := parley.EncodeContent(parley.ToolResultContent{Result: result, Success: true})
	if err != nil {
		panic(err)
	}
	return engine.MessageInput{Role: parley.RoleToolResult, ToolCallID: m.ToolCallID, Content: content}
}
