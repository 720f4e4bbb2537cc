package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/internal/program"
)

const (
	// maxQueued bounds the output of a program that no turn has read yet, in bytes of text and in pieces.
	maxQueued       = 8 << 20
	maxQueuedPieces = 10_000
	// maxHeld bounds the bytes that the calls of a prompt hold before they are in the record. Further content is left
	// out, and the record says so.
	maxHeld = 8 << 20
	// maxOptions bounds how many options of a permission request are read.
	maxOptions = 64
	// cancelTime is how long a program may take to end a cancelled prompt.
	cancelTime = 5 * time.Second
	// openTime bounds how long a program may take to start and to open its session.
	openTime = 60 * time.Second
)

// session is a running program, which serves one session of this server.
type session struct {
	runtime     *Runtime
	workspaceID parley.ID
	id          parley.ID // of this server's session
	files       files
	process     *program.Process
	conn        *acpwire.Conn
	takes       acpwire.PromptCapabilities // set before the session is named
	own         string                     // the program's own name of its session
	ended       chan struct{}              // closed when the process and all of its goroutines are gone
	closing     sync.Once

	mu      sync.Mutex // guards the fields below
	turnID  parley.ID  // the turn whose prompt is under way; zero: none
	waits   bool       // that turn waits
	leaves  bool       // that turn continues without the program, or has ended
	stopped bool       // the program was told to end the prompt
	spends  spending
	denies  func(name string, arguments json.RawMessage) bool
	replays bool // it repeats an earlier session, which is in the record
	queue   []piece
	queued  int              // bytes of its texts
	full    bool             // the queue is full: the program is being ended
	held    int              // bytes that its calls hold
	calls   map[string]*call // by the name in the record
	stands  map[string]*call // by the program's name, where calls has it under another one
	plans   int
	over    *prompted // how the prompt ended, once the queue is read
	// finished is closed when the prompt has ended.
	finished chan struct{}
	wake     chan struct{}
	idle     *time.Timer // ends the program; nil while it is busy
}

// piece is a text or a call from the program.
type piece struct {
	thought bool
	text    *strings.Builder // grows until it is taken; nil for a call
	call    *call
}

// prompted is how a prompt ended.
type prompted struct {
	stop string
	err  error
}

// toolName returns the name that the record uses for the program's tools of a kind.
func (s *session) toolName(sort string) string { return s.runtime.command.Name + "__" + sort }

// listen reads from the program until it ends.
func (s *session) listen() {
	err := s.conn.Read(s.process.Output)
	s.conn.End(s.process.Why(fmt.Errorf("the agent's process is gone: %w", err)))
	s.close()
	s.poke()
}

// poke wakes the goroutine that waits for news.
func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close ends the process, in the background.
func (s *session) close() {
	s.closing.Do(func() {
		s.runtime.forget(s)
		s.conn.End(errors.New("the agent's process was ended"))
		go func() { // ends with the process; Stop waits for it
			_ = s.process.Close() // its error only says that pipes were closed already
			close(s.ended)
		}()
	})
}

// told handles a notification.
func (s *session) told(method string, params json.RawMessage) {
	if method != acpwire.MethodUpdate {
		return
	}
	var told notification
	if json.Unmarshal(params, &told) != nil {
		return // not a form of this version of the protocol
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replays || s.own == "" || told.ID != s.own {
		return // the record has it already
	}
	if told.Update.Kind == acpwire.UpdateUsage {
		s.spends.update(&told.Update) // also after a turn: it is charged to the next one
		return
	}
	u := &told.Update
	if s.turnID.IsZero() || s.leaves {
		return // it belongs to no turn
	}
	switch u.Kind {
	case acpwire.UpdateText, acpwire.UpdateThought:
		var said acpwire.Block
		if json.Unmarshal(u.Content, &said) == nil {
			s.say(u.Kind == acpwire.UpdateThought, said.Said())
		}
	case acpwire.UpdateCall, acpwire.UpdateCallAgain:
		c := s.callOf(u.CallID)
		if c == nil {
			return
		}
		s.update(c, &u.callUpdate, u.Content)
		s.advance(c)
	case acpwire.UpdatePlan:
		s.plans++
		c := s.callOf(callIDOfPlan + strconv.Itoa(s.plans))
		if c == nil {
			return
		}
		s.update(c, &callUpdate{Input: u.Entries}, nil)
		c.sort, c.status = planName, acpwire.StatusCompleted
		s.advance(c)
	}
	s.poke()
}

// callOf finds or makes a call; nil if it has no name or there are too many.
func (s *session) callOf(id string) *call {
	if c := s.stands[id]; c != nil {
		return c
	}
	if c := s.calls[id]; c != nil {
		return c
	}
	if id == "" || len(id) > maxCallID || len(s.calls) >= maxCalls {
		return nil
	}
	c := newCall(id)
	s.calls[id] = c
	return c
}

// advance shows a call that has begun, and ends one that has ended.
func (s *session) advance(c *call) {
	switch c.status {
	case acpwire.StatusRuns:
		s.show(c)
	case acpwire.StatusCompleted, acpwire.StatusFailed:
		s.show(c)
		c.end()
	}
}

// show puts a call into the queue, once.
func (s *session) show(c *call) {
	if !c.due {
		c.due, c.asked = true, c.asks != nil
		s.push(piece{call: c})
	}
}

// say puts a text into the queue, behind another of its kind.
func (s *session) say(thought bool, text string) {
	if text == "" || s.full {
		return
	}
	s.queued += len(text)
	if last := len(s.queue) - 1; last >= 0 && s.queue[last].call == nil && s.queue[last].thought == thought {
		s.queue[last].text.WriteString(text)
	} else {
		s.push(piece{thought: thought, text: new(strings.Builder)})
		s.queue[len(s.queue)-1].text.WriteString(text)
	}
	s.bound()
}

// push puts a piece into the queue.
func (s *session) push(p piece) {
	s.queue = append(s.queue, p)
	s.bound()
}

// bound ends a program whose queue is full. What it still says is dropped.
func (s *session) bound() {
	if s.full || s.queued <= maxQueued && len(s.queue) <= maxQueuedPieces {
		return
	}
	s.full = true
	s.conn.End(errors.New("the agent said more than Parley keeps while its turn waited"))
	s.runtime.ending.Go(s.close) // in the background: it waits for the runtime, which may wait for this mutex
}

// update applies an update to a call, as far as there is room for it.
func (s *session) update(c *call, u *callUpdate, content json.RawMessage) {
	s.held += c.update(u, content, maxHeld-s.held)
}

// asked answers a request of the program.
func (s *session) asked(id json.RawMessage, method string, params json.RawMessage) {
	var err error
	switch method {
	case acpwire.MethodPermission:
		var request permissionRequest
		if json.Unmarshal(params, &request) != nil || !s.askLeave(id, &request) {
			err = s.conn.Refuse(
				id,
				acpwire.CodeInvalidParams,
				errors.New("the request does not have the form of the protocol"),
			)
		}
	case acpwire.MethodRead:
		err = s.readFile(id, params)
	case acpwire.MethodWrite:
		err = s.writeFile(id, params)
	default:
		err = s.conn.Refuse(id, acpwire.CodeNoMethod, errors.New("Parley has no method "+parley.Clip(method, 64)))
	}
	if err != nil { // the program has stopped reading
		s.conn.End(err)
		s.close()
	}
}

// askLeave notes that a call wants permission; false if the request is not valid.
func (s *session) askLeave(id json.RawMessage, request *permissionRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.callOf(request.Call.CallID)
	if c != nil && c.due && !c.ended { // it was shown before it asked: a second call in the record asks for it
		again := s.callOf(c.id + "#" + strconv.Itoa(len(s.calls)))
		if again == nil {
			return false
		}
		again.title, again.sort, again.input, again.locations = c.title, c.sort, c.input, c.locations
		s.held += len(again.input) + len(again.locations)
		c.status = acpwire.StatusPending
		c.end()
		s.stands[request.Call.CallID] = again
		c = again
	}
	if c == nil || c.due || s.turnID.IsZero() || request.ID != s.own {
		return false
	}
	for _, option := range listed[permissionOption](request.Options, maxOptions) {
		switch {
		case option.Kind == "allow_once":
			c.allowed = option.ID
		case option.Kind == "reject_once", option.Kind == "reject_always" && c.refused == "":
			c.refused = option.ID
		}
	}
	c.asks = id
	s.update(c, &request.Call.callUpdate, request.Call.Content)
	s.show(c)
	s.poke()
	return true
}

// allow answers a call's permission request after it was granted.
func (s *session) allow(c *call) error {
	s.mu.Lock()
	id, option := c.asks, c.allowed
	c.asks, c.taken = nil, true
	s.mu.Unlock()
	if id == nil {
		return nil
	}
	if option == "" {
		return errors.Join(
			parley.Errorf(parley.CodeUnsupported, "Not run: the agent offers no way to allow this call once."),
			s.answer(id, ""),
		)
	}
	return s.answer(id, option)
}

// answer answers a permission request with an option; "" says that it was cancelled.
func (s *session) answer(id json.RawMessage, option string) error {
	var answer outcome
	answer.Outcome.Kind = "cancelled"
	if option != "" {
		answer.Outcome.Kind, answer.Outcome.Option = "selected", option
	}
	return s.conn.Respond(id, answer)
}

// refuse denies open permission requests: those of calls that have their result, or, for a cancel, all of them.
func (s *session) refuse(all bool) {
	s.mu.Lock()
	type open struct {
		id     json.RawMessage
		option string
	}
	var refused []open
	for _, c := range s.calls {
		if c.asks != nil && (all || !s.inQueue(c)) {
			option := c.refused
			if all {
				option = ""
			}
			refused = append(refused, open{c.asks, option})
			c.asks = nil
		}
	}
	s.mu.Unlock()
	for _, r := range refused {
		if err := s.answer(r.id, r.option); err != nil {
			s.close()
		}
	}
}

func (s *session) inQueue(c *call) bool {
	for i := range s.queue {
		if s.queue[i].call == c {
			return true
		}
	}
	return false
}

// escaped reports a call that ran without permission although a rule denies it: its result was recorded although
// nothing waited for it.
func (s *session) escaped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.due && !c.asked && !c.taken && !s.inQueue(c) {
			return true
		}
	}
	return false
}

func (s *session) readFile(id, params json.RawMessage) error {
	var request struct {
		ID    string `json:"sessionId"`
		Path  string `json:"path"`
		Line  *int   `json:"line"`
		Limit *int   `json:"limit"`
	}
	if json.Unmarshal(params, &request) != nil || !s.is(request.ID) {
		return s.conn.Refuse(
			id,
			acpwire.CodeInvalidParams,
			errors.New("the request does not have the form of the protocol"),
		)
	}
	if err := s.mayTouch("read_file", request.Path); err != nil {
		return s.conn.Refuse(id, acpwire.CodeInternal, err)
	}
	text, err := s.files.read(request.Path, request.Line, request.Limit)
	if err != nil {
		return s.conn.Refuse(id, acpwire.CodeInternal, err)
	}
	return s.conn.Respond(id, struct {
		Content string `json:"content"`
	}{text})
}

func (s *session) writeFile(id, params json.RawMessage) error {
	var request struct {
		ID      string `json:"sessionId"`
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if json.Unmarshal(params, &request) != nil || !s.is(request.ID) {
		return s.conn.Refuse(
			id,
			acpwire.CodeInvalidParams,
			errors.New("the request does not have the form of the protocol"),
		)
	}
	err := s.mayTouch("write_file", request.Path)
	if err == nil {
		err = s.files.write(request.Path, request.Content)
	}
	if err != nil {
		return s.conn.Refuse(id, acpwire.CodeInternal, err)
	}
	return s.conn.Respond(id, struct{}{})
}

// mayTouch refuses file access outside a turn, and access that a grant denies to the matching file tool.
func (s *session) mayTouch(name, path string) error {
	s.mu.Lock()
	denies := s.denies
	if s.turnID.IsZero() {
		denies = nil
	}
	s.mu.Unlock()
	if denies == nil {
		return parley.Errorf(parley.CodeConflict, "no turn is under way")
	}
	arguments, err := parley.EncodeJSON(map[string]string{"path": s.files.relative(path)})
	if err != nil {
		return err
	}
	if denies(name, arguments) {
		return parley.Errorf(parley.CodeForbidden, "a rule of this agent or session denies it")
	}
	return nil
}

// resultOf returns the result of a call.
func (s *session) resultOf(c *call) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := c.result()
	s.held -= c.release()
	if result.Status == acpwire.StatusFailed {
		text := result.Text
		if text == "" {
			text = "The agent says that the call failed."
		}
		return nil, parley.Errorf(parley.CodeUnavailable, "%s", text)
	}
	return parley.EncodeJSON(result)
}

func (s *session) titleOf(c *call) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.title
}

// begin sends a prompt of a turn.
func (s *session) begin(turnID parley.ID, prompt []acpwire.Block) ([]byte, error) {
	body, err := json.Marshal(promptRequest{ID: s.own, Prompt: prompt})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	finished := make(chan struct{})
	s.turnID, s.waits, s.leaves, s.stopped = turnID, false, false, false
	s.over, s.finished = nil, finished
	s.queue, s.queued, s.plans, s.held = nil, 0, 0, 0
	s.calls, s.stands = map[string]*call{}, map[string]*call{}
	s.mu.Unlock()
	answer, err := s.conn.Begin(acpwire.MethodPrompt, json.RawMessage(body))
	if err != nil {
		s.free(turnID)
		s.close()
		return nil, err
	}
	s.runtime.ending.Go(func() { // ends with the prompt or the process
		defer close(finished)
		var stopped struct {
			Reason string `json:"stopReason"`
		}
		ended := prompted{}
		select {
		case f := <-answer:
			ended.err = f.Into(&stopped)
			ended.stop = stopped.Reason
		case <-s.conn.Gone:
			ended.err = s.conn.Why()
		}
		s.mu.Lock()
		s.over = &ended
		for _, c := range s.calls { // calls that it left unfinished
			if !c.due {
				s.show(c)
			}
			c.end()
		}
		s.mu.Unlock()
		s.poke()
	})
	return body, nil
}

// take waits for the next piece. ended reports that the prompt has ended and no piece is left.
func (s *session) take(ctx context.Context) (next piece, ended *prompted, err error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			next = s.queue[0]
			s.queue = s.queue[1:]
			if next.text != nil {
				s.queued -= next.text.Len()
			}
			s.mu.Unlock()
			return next, nil, nil
		}
		ended = s.over
		s.mu.Unlock()
		if ended != nil {
			return piece{}, ended, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return piece{}, nil, context.Cause(ctx)
		}
	}
}

// left waits for a piece or the end of the prompt, and reports which came.
func (s *session) left(ctx context.Context) (ended *prompted, err error) {
	for {
		s.mu.Lock()
		more, over := len(s.queue) > 0, s.over
		s.mu.Unlock()
		switch {
		case more:
			return nil, nil
		case over != nil:
			return over, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// nextIsCall reports whether the next piece is a call.
func (s *session) nextIsCall() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 && s.queue[0].call != nil
}

// abandon lets a turn continue without the program; cancel then ends the prompt. It returns false if the prompt belongs
// to another turn or was abandoned before.
func (s *session) abandon(turnID parley.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turnID != turnID || turnID.IsZero() || s.leaves {
		return false
	}
	s.leaves = true
	return true
}

// cancel ends the prompt of a turn as the protocol asks: it tells the program, and ends the program if the prompt does
// not end in time. Later callers wait for that.
func (s *session) cancel(turnID parley.ID) {
	s.mu.Lock()
	under := s.turnID == turnID && !turnID.IsZero()
	over, finished, first := s.over != nil, s.finished, !s.stopped
	if under {
		s.leaves, s.stopped = true, true
	}
	s.mu.Unlock()
	if !under {
		return
	}
	defer s.free(turnID)
	if over {
		return
	}
	if first {
		if err := s.conn.Notify(acpwire.MethodCancel, struct {
			ID string `json:"sessionId"`
		}{s.own}); err != nil {
			s.close()
			return
		}
		s.refuse(true)
	}
	timer := time.NewTimer(cancelTime)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		s.close()
	}
}

// free releases what belongs to a turn.
func (s *session) free(turnID parley.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turnID == turnID {
		s.turnID, s.denies, s.waits, s.leaves, s.stopped = parley.ID{}, nil, false, false, false
		s.queue, s.queued = nil, 0
	}
}

// is reports whether a name is the program's name for its session.
func (s *session) is(own string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return own == s.own
}

// current returns the turn whose prompt is under way; zero if there is none.
func (s *session) current() parley.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turnID
}
