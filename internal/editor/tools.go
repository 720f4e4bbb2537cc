package editor

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// The tools that an editor answers. Their names begin with toolPrefix.
const (
	toolPrefix  = "editor_"
	readTool    = "editor_read_file"
	writeTool   = "editor_write_file"
	commandTool = "editor_run_command"
)

// The bounds of the editor's tools.
const (
	maxFileText   = 256 << 10 // bytes of what one call reads
	maxOutput     = 128 << 10 // bytes of a command's output
	commandTime   = 120       // seconds that a command may run, unless the call says otherwise
	longestTime   = 1800      // that it may ask for
	lastWordsTime = 5 * time.Second
	spokenPage    = 100 // messages that are read at once
)

// definitions are the tools that the editor offers.
func (o *offers) definitions() (tools []parley.ToolRef) {
	add := func(name, description, parameters string) {
		tools = append(tools, parley.ToolRef{Name: name, Definition: &parley.ToolDefinition{
			Name: name, Description: description, Parameters: json.RawMessage(parameters),
		}})
	}
	const path = `"path":{"type":"string","description":"Absolute, or relative to the session's directory."}`
	if o.Files.Read {
		add(readTool, "Reads a text file in the user's editor, with changes that are not saved yet.",
			`{"type":"object","additionalProperties":false,"required":["path"],"properties":{`+path+`,`+
				`"line":{"type":"integer","minimum":1,"description":"The first line to read, from 1."},`+
				`"limit":{"type":"integer","minimum":1,"description":"How many lines to read."}}}`)
	}
	if o.Files.Write {
		add(writeTool, "Writes a text file in the user's editor, whole: it is created or replaced.",
			`{"type":"object","additionalProperties":false,"required":["path","text"],"properties":{`+path+`,`+
				`"text":{"type":"string","description":"All of the file's text."}}}`)
	}
	if o.Terminal {
		add(commandTool, "Runs a program in a terminal of the user's editor and returns what it printed.",
			`{"type":"object","additionalProperties":false,"required":["command"],"properties":{`+
				`"command":{"type":"string","description":"The program; no shell reads it."},`+
				`"args":{"type":"array","items":{"type":"string"}},`+
				`"directory":{"type":"string","description":"The session's by default."},`+
				`"timeout":{"type":"integer","minimum":1,"maximum":1800,"description":"Seconds; 120 by default."}}}`)
	}
	return tools
}

// rules are the grants that a session lacks: tools of clients run without a question unless a rule asks, and the
// editor's may change anything there. Rules of the agent come first.
func (o *offers) rules(agent *parley.Agent, of *parley.Session) (missing []parley.Grant) {
	if !o.Files.Write && !o.Terminal {
		return nil
	}
	concern := func(grants *[]parley.Grant, tool string) bool {
		for _, g := range parley.ValueOf(grants) {
			if g.Concerns(tool) {
				return true
			}
		}
		return false
	}
	for _, tool := range []string{writeTool, commandTool} {
		if concern(agent.Grants, tool) || concern(of.Grants, tool) {
			continue
		}
		// A pattern, so that what a person allows by the tool's name for the session is more specific.
		missing = append(missing, parley.Grant{Tool: tool + "*", Effect: parley.GrantAsk})
	}
	return missing
}

// settings are those of a prompt: the tools of its session, and the editor's.
func (x *session) settings(of *parley.Session) (s parley.Settings) {
	offers := x.server.editorOffers()
	own := offers.definitions()
	if len(own) == 0 || strings.HasPrefix(x.agent.Runtime, "acp/") { // such a program has its own
		return s
	}
	tools := parley.ValueOf(x.agent.Tools)
	if of.Tools != nil {
		tools = *of.Tools
	}
	all := append(tools[:len(tools):len(tools)], own...)
	s.Tools = &all
	return s
}

// calledFor reads which calls of the editor's tools wait for their results, in order. A turn waits for results only
// once nobody has to approve a call any more, so these may run; those of a later step may not, and are left out.
func (t *turn) calledFor(ctx context.Context) (calls []parley.ToolCallContent, err error) {
	of, err := t.x.server.api.Turn(ctx, t.id)
	if err != nil || of.Status != parley.TurnWaiting || of.WaitReason != parley.WaitToolResult {
		return nil, err
	}
	waiting, err := t.unanswered(ctx, of.Step)
	for _, call := range waiting {
		if strings.HasPrefix(call.Name, toolPrefix) && !t.ran[call.ID] {
			calls = append(calls, call)
		}
	}
	return calls, err
}

// unanswered reads the calls of the turn's step that have no result.
func (t *turn) unanswered(ctx context.Context, step int) (open []parley.ToolCallContent, err error) {
	var calls []parley.ToolCallContent
	answered := map[string]bool{}
	for m, err := range t.x.server.api.AllMessages(ctx, t.at, client.MessagesQuery{
		Limit: parley.MaxPage, Turn: []parley.ID{t.id}, Role: []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
	}) {
		var call parley.ToolCallContent
		switch {
		case err != nil:
			return nil, err
		case m.Role == parley.RoleToolResult: // those of clients belong to no step
			answered[m.ToolCallID] = true
		case m.Step == step && m.Status == parley.MessageCompleted && json.Unmarshal(m.Content, &call) == nil:
			calls = append(calls, call)
		}
	}
	for _, call := range calls {
		if !answered[call.ID] {
			open = append(open, call)
		}
	}
	return open, nil
}

// errUnknown is the result of a command that may have run.
var errUnknown = parley.Errorf(parley.CodeUnavailable, parley.EffectUnknown)

// answerTools runs the calls of the editor's tools that the turn waits for, and posts their results.
func (t *turn) answerTools(ctx context.Context) {
	s := t.x.server
	var calls []parley.ToolCallContent
	err := s.patiently(ctx, func() (err error) {
		calls, err = t.calledFor(ctx)
		return err
	})
	if err != nil || len(calls) == 0 {
		return
	}
	of, err := s.api.Session(ctx, t.at)
	if err != nil || remembered(&of).Program != s.own {
		return // another program has the session open now
	}
	if mine, err := s.mine(ctx, &of); err != nil || !mine {
		return // its owner would decide what runs unasked
	}
	others, decided, err := t.others(ctx)
	if err != nil {
		return // it is asked again when the session is loaded
	}
	late := t.late
	t.late = false
	for i := range calls {
		call := &calls[i]
		if ctx.Err() != nil {
			return
		}
		t.ran[call.ID] = true
		var result any
		switch {
		case late && call.Name == commandTool && !t.again(ctx, call, "Do not run it: it may have run before"):
			err = errUnknown
		case (others || decided[call.ID]) && !t.again(ctx, call, "Do not run it: somebody else had a part in it"):
			err = errRefused
		default:
			result, err = t.runTool(ctx, call)
		}
		if ctx.Err() != nil {
			return // the turn was cancelled, or is left: its record says that the effect is unknown
		}
		t.post(ctx, call.ID, result, err)
	}
}

// post gives a call its result.
func (t *turn) post(ctx context.Context, call string, result any, failed error) {
	content := parley.ToolResultContent{Success: failed == nil}
	if failed != nil {
		said := parley.Clip(failed.Error(), 4<<10)
		content.Error = &said
	} else {
		content.Result, _ = json.Marshal(result) //nolint:errchkjson // texts and numbers
	}
	encoded, err := parley.EncodeContent(content)
	if err != nil {
		return
	}
	key := client.IdempotencyKey(parley.NewID().String())
	_ = t.x.server.patiently(ctx, func() error { // a call that has its result, or whose turn is over, needs none
		_, err := t.x.server.api.PostMessage(ctx, t.at, client.ToolResult(call, encoded), key)
		return err
	})
}

// errRefused is the result of a call that the editor's user did not allow.
var errRefused = parley.Errorf(parley.CodeForbidden, "The user of the editor did not allow this call.")

// others reports whether somebody else than the editor's user has a part in the conversation, and which of the turn's
// calls somebody else has approved: in a shared session anybody may. What they ask for, now or in an earlier turn, does
// not run here unasked.
func (t *turn) others(ctx context.Context) (spoke bool, decided map[string]bool, err error) {
	api := t.x.server.api
	me, err := t.x.server.whoAmI(ctx)
	if err != nil {
		return false, nil, err
	}
	if spoke, err = t.x.spoken(ctx, t.at, me); err != nil {
		return false, nil, err
	}
	decided = map[string]bool{}
	for a, err := range api.AllSessionApprovals(ctx, t.at, client.SessionApprovalsQuery{
		Limit: parley.MaxPage, Status: []parley.ApprovalState{parley.ApprovalApproved},
	}) {
		if err != nil {
			return false, nil, err
		}
		if a.TurnID == t.id && (a.DecidedBy == nil || a.DecidedBy.ID != me) {
			decided[a.ToolCallID] = true
		}
	}
	return spoke, decided, nil
}

// spoken reports whether the record has words of somebody else than the editor's user. What was read once is not read
// again.
func (x *session) spoken(ctx context.Context, at, me parley.ID) (bool, error) {
	x.mu.Lock()
	from := x.alone[at]
	x.mu.Unlock()
	for m, err := range x.server.api.AllMessages(ctx, at, client.MessagesQuery{
		Limit: spokenPage, Order: "asc", FromSequence: from + 1,
	}) {
		if err != nil {
			return false, err
		}
		if m.Author.ID != me && (m.Role == parley.RoleUser || m.Author.Kind != parley.AuthorAgent) {
			return true, nil
		}
		if m.Status.Settled() && m.Sequence == from+1 {
			from = m.Sequence
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.alone = map[parley.ID]int64{at: from}
	return false, nil
}

// again asks whether a call runs that the record's rules allow, but that this editor's user may not know of.
func (t *turn) again(ctx context.Context, call *parley.ToolCallContent, otherwise string) bool {
	option, err := t.permit(ctx, permission{
		Call: t.v.describe(call.ID, call.Name, call.Arguments),
		Options: []permissionOption{
			{optionOnce, "Run it now", acpwire.AllowOnce},
			{optionReject, otherwise, acpwire.RejectOnce},
		},
	})
	return err == nil && option == optionOnce
}

// editorArguments are those of all the editor's tools.
type editorArguments struct {
	Path      string   `json:"path"`
	Line      *int     `json:"line"`
	Limit     *int     `json:"limit"`
	Text      string   `json:"text"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Directory string   `json:"directory"`
	Timeout   int      `json:"timeout"`
}

// runTool runs a call in the editor.
func (t *turn) runTool(ctx context.Context, call *parley.ToolCallContent) (any, error) {
	var given editorArguments
	if err := json.Unmarshal(call.Arguments, &given); err != nil {
		return nil, errors.New("the arguments cannot be read")
	}
	t.v.status(call.ID, acpwire.StatusRuns)
	switch call.Name {
	case readTool:
		text, err := t.x.read(ctx, given.Path, given.Line, given.Limit)
		if err == nil && len(text) > maxFileText {
			err = parley.Errorf(parley.CodeTooLarge,
				"the text has %d bytes, and at most %d are read at once: give line and limit", len(text), maxFileText)
		}
		return text, err
	case writeTool:
		return struct {
				Bytes int `json:"bytes"`
			}{len(given.Text)}, t.x.server.conn.Ask(ctx, acpwire.MethodWrite, struct {
				Session string `json:"sessionId"`
				Path    string `json:"path"`
				Text    string `json:"content"`
			}{t.x.id, t.x.absolute(given.Path), given.Text}, nil)
	case commandTool:
		return t.command(ctx, call.ID, &given)
	}
	return nil, errors.New("the editor has no such tool")
}

// absolute returns a path as the editor wants it.
func (x *session) absolute(name string) string {
	windows := len(name) > 2 && name[1] == ':'
	if name == "" || strings.HasPrefix(name, "/") || windows || strings.HasPrefix(name, `\\`) {
		return name
	}
	return path.Join(x.directory, name)
}

// read reads a file in the editor.
func (x *session) read(ctx context.Context, name string, line, limit *int) (string, error) {
	var answer struct {
		Content string `json:"content"`
	}
	err := x.server.conn.Ask(ctx, acpwire.MethodRead, struct {
		Session string `json:"sessionId"`
		Path    string `json:"path"`
		Line    *int   `json:"line,omitempty"`
		Limit   *int   `json:"limit,omitempty"`
	}{x.id, x.absolute(name), line, limit}, &answer)
	return answer.Content, err
}

// ran is what became of a command.
type ran struct {
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
	Output    string  `json:"output"`
	Truncated bool    `json:"truncated,omitempty"`
	TimedOut  bool    `json:"timed_out,omitempty"`
}

// terminalOf names a terminal of the editor.
type terminalOf struct {
	Session  string `json:"sessionId"`
	Terminal string `json:"terminalId"`
}

// command runs a program in a terminal of the editor, which shows it.
func (t *turn) command(ctx context.Context, call string, given *editorArguments) (ran, error) {
	conn := t.x.server.conn
	request := struct {
		Session   string   `json:"sessionId"`
		Command   string   `json:"command"`
		Args      []string `json:"args"`
		Directory string   `json:"cwd,omitempty"`
		Most      int      `json:"outputByteLimit"`
	}{t.x.id, given.Command, given.Args, t.x.directory, maxOutput}
	if request.Args == nil {
		request.Args = []string{}
	}
	if given.Directory != "" {
		request.Directory = t.x.absolute(given.Directory)
	}
	of := terminalOf{Session: t.x.id}
	if err := conn.Ask(ctx, acpwire.MethodTerminal, request, &of); err != nil {
		return ran{}, err
	}
	defer t.x.server.aside(ctx, acpwire.MethodTerminalRelease, of)
	t.v.terminal(call, of.Terminal)
	seconds := given.Timeout
	if seconds <= 0 {
		seconds = commandTime
	}
	timed, stop := context.WithTimeout(ctx, time.Duration(min(seconds, longestTime))*time.Second)
	defer stop()
	err := conn.Ask(timed, acpwire.MethodTerminalExit, of, nil)
	var done ran
	if timed.Err() != nil {
		done.TimedOut = ctx.Err() == nil
		t.x.server.aside(ctx, acpwire.MethodTerminalKill, of)
		err = ctx.Err()
	}
	if err != nil {
		return done, err
	}
	var printed struct {
		Output    string `json:"output"`
		Truncated bool   `json:"truncated"`
		Exit      *struct {
			Code   *int    `json:"exitCode"`
			Signal *string `json:"signal"`
		} `json:"exitStatus"`
	}
	err = conn.Ask(ctx, acpwire.MethodTerminalOutput, of, &printed)
	done.Output, done.Truncated = parley.Clip(printed.Output, maxOutput), printed.Truncated
	done.Truncated = done.Truncated || len(done.Output) < len(printed.Output)
	if printed.Exit != nil {
		done.ExitCode, done.Signal = printed.Exit.Code, printed.Exit.Signal
	}
	return done, err
}

// aside asks the editor for something that must also happen once the turn was cancelled.
func (s *server) aside(ctx context.Context, method string, of terminalOf) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWordsTime)
	defer stop()
	_ = s.conn.Ask(ctx, method, of, nil) // the terminal is the editor's
}
