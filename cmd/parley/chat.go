package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
	"example.org/parley/internal/lineedit"
)

func chatCommand(shared *flags, term terminal) *cobra.Command {
	var sessionID, agent, model, during string
	var paths []string
	command := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Talk to an agent in the terminal",
		Long: "Talk to an agent in the terminal. With MESSAGE it runs one turn and ends;\notherwise it " +
			"reads messages line by line. A line that ends with \\ continues on the next, and\nso does a block of " +
			"code until its ```. On a terminal the arrows edit a message and\nbring back earlier ones, kept in " +
			"~/.local/state/parley/chat_history; one that begins\nwith a space is not kept. Ctrl-R searches them, " +
			"and Tab completes commands. Answers are\nshown in styles unless NO_COLOR is set. Ctrl-C cancels the " +
			"running turn, and a second\none leaves; at the prompt it discards what is typed, or leaves.\n" +
			"A line typed while an answer streams reaches the agent at its next step (/steer, or\nwhat --during " +
			"says); /queue TEXT waits for its own turn, /interrupt TEXT stops the\nrunning one. The other " +
			"commands:\n\n" + chatHelp(),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			switch {
			case len(args) > 0 && strings.TrimSpace(text) == "":
				return misused(cmd, "MESSAGE is empty")
			case sessionID != "" && agent != "":
				return misused(cmd, "a session keeps its agent, so --agent has no effect with --session; "+
					"leave one of them out")
			}
			server, err := shared.connect(getenv)
			if err != nil {
				return err
			}
			defer server.Close()
			c := &chat{
				server: server,
				term:   term,
				json:   shared.json,
				model:  parley.ModelID(model),
				during: parley.During(during),
			}
			// Ctrl-C cancels the running turn here, not the whole command. SIGTERM ends the
			// command; the turn continues without it.
			ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), syscall.SIGTERM)
			defer stop()
			c.over = make(chan struct{})
			defer close(c.over)
			c.interrupts = make(chan os.Signal, 1)
			signal.Notify(c.interrupts, os.Interrupt)
			defer signal.Stop(c.interrupts)
			if c.files, err = uploadFiles(cmd.Context(), server, term, paths); err != nil {
				return err
			}
			if len(args) == 0 && !c.json {
				if err := c.edit(); err != nil {
					return err
				}
				defer c.closeEditor()
			}
			if err := c.open(ctx, sessionID, agent); err != nil {
				return err
			}
			if c.session.ID.IsZero() && len(args) == 0 && len(c.files) == 0 && !c.json && c.term.interactive() {
				fmt.Fprintln(c.term.err, "Type a message; /help lists the commands, Ctrl-C leaves.")
			}
			if err := c.takeUp(ctx); err != nil && !errors.Is(err, errQuiet) {
				return err
			}
			if len(args) > 0 {
				return c.say(ctx, text)
			}
			return c.loop(ctx)
		},
	}
	command.Flags().StringVar(&sessionID, "session", "", "continue this session, or last; a new one by default")
	command.Flags().StringVar(&agent, "agent", "", "agent of a new session, by slug or id")
	command.Flags().StringVar(&model, "model", "", "provider/model for these messages")
	command.Flags().
		StringArrayVar(&paths, "file", nil, "upload this file and show it with the first message; repeatable")
	command.Flags().
		StringVar(&during, "during", "",
			"what happens if a turn is unfinished: queue, steer, interrupt or reject; the session's setting when "+
				"not given")
	return command
}

// chat is a conversation in one session.
type chat struct {
	server  *client.Client
	term    terminal
	json    bool
	model   parley.ModelID
	during  parley.During
	files   []parley.File  // of the next message
	session parley.Session // none before the first message of a new one
	agent   string         // of a new session
	fresh   bool           // this chat made the session, and the server has taken no message yet

	interrupts chan os.Signal // Ctrl-C; nil: each turn listens by itself
	left       bool           // the person pressed it twice
	over       chan struct{}  // closed when the chat ends; nil for what ends with the process

	owed   asking           // answers that the session waited for when the chat began
	editor *lineedit.Editor // of a terminal; nil: lines are read as they come
	lines  <-chan string    // what the person types, once input has been called
	failed <-chan error

	forgets bool // the history cannot be written, and the person was told

	typed <-chan string // lines, if those typed during a turn may steer it; else nil
	spoke bool          // a line was posted during the turn; its own turn may not be shown yet
	seen  int64         // the last event shown
}

func (c *chat) open(ctx context.Context, sessionID, agent string) error {
	if sessionID == "" {
		if agent == "" {
			return nil
		}
		var err error
		c.agent, err = referAgent(ctx, c.server, agent)
		return err
	}
	id, err := refer(ctx, c.server, "SESSION", sessionID)
	if err != nil {
		return err
	}
	session, err := c.server.Session(ctx, id)
	if err != nil {
		return err
	}
	c.enter(session)
	return nil
}

// enter continues a session.
func (c *chat) enter(session parley.Session) {
	c.session, c.seen = session, session.LastEvent
	if !c.json {
		fmt.Fprintln(c.term.err, "session", c.session.ID)
	}
}

// begin makes the session of the first message.
func (c *chat) begin(ctx context.Context) error {
	if !c.session.ID.IsZero() {
		return nil
	}
	session, err := c.server.CreateSession(ctx, client.SessionInput{AgentID: c.agent})
	if err == nil {
		c.fresh = true
		c.enter(session)
	}
	return err
}

// undo deletes a session that this chat made if the server refused its first message.
func (c *chat) undo(ctx context.Context, refused error) error {
	code := parley.ErrorCode(refused)
	if !c.fresh || refused == nil || code == parley.CodeInternal || code == parley.CodeUnavailable {
		return refused
	}
	if err := c.server.DeleteSession(ctx, c.session.ID); err != nil {
		return errors.Join(refused, err)
	}
	c.session, c.fresh, c.seen = parley.Session{}, false, 0
	if !c.json {
		fmt.Fprintln(c.term.err, "(the session was not kept)")
	}
	return refused
}

// loop reads messages until the input ends or Ctrl-C at the prompt.
func (c *chat) loop(ctx context.Context) error {
	lines := c.input()
	if c.term.interactive() {
		c.typed = lines
	}
	begun := "" // the lines of a message so far
	for {
		switch {
		case c.typed == nil:
		case begun != "":
			c.ask(furtherPrompt)
		default:
			c.ask(usualPrompt)
		}
		select {
		case <-ctx.Done():
			return errQuiet
		case <-c.interrupts:
			if c.discard() {
				continue
			}
			c.leave()
			return nil
		case line, ok := <-lines:
			if !ok {
				if c.term.interactive() {
					c.leave()
				}
				return c.inputError()
			}
			c.answered()
			line, begun = begun+line, ""
			if c.typed != nil && c.editor == nil { // which does so itself
				if longer, more := continuedLine(line); more {
					begun = longer
					continue
				}
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			c.remember(line)
			switch err := c.hear(ctx, line); {
			case c.left, errors.Is(err, errLeft):
				c.leave()
				return nil
			case err != nil && !errors.Is(err, errQuiet):
				return err
			}
		}
	}
}

// leave says how to come back.
func (c *chat) leave() {
	if c.json || c.session.ID.IsZero() {
		return
	}
	fmt.Fprintln(c.term.err, "The session stays; continue with: parley chat --session", c.session.ID)
}

// resumption is a way to resume a turn: to retry one that failed or was cancelled, or to continue one that stopped at a
// limit.
type resumption string

const (
	retryTurn    resumption = "retry"
	continueTurn resumption = "continue"
)

// stream resumes a turn and ranges over its frames.
func (r resumption) stream(ctx context.Context, server *client.Client, turn parley.ID) frames {
	if r == retryTurn {
		return server.RetryTurnStream(ctx, turn)
	}
	return server.ContinueTurnStream(ctx, turn)
}

// hear acts on a line, which is a command or a message. It prints what the server refuses; the chat continues.
func (c *chat) hear(ctx context.Context, line string) error {
	var err error
	if command, rest := commandIn(line); command != "" {
		err = c.obey(ctx, command, rest)
	} else {
		_, text := spoken(line)
		err = c.say(ctx, text)
	}
	switch parley.ErrorCode(err) {
	case parley.CodeConflict, parley.CodeNotFound, parley.CodeInvalid:
		fmt.Fprintln(c.term.err, "!", err)
		return nil
	case parley.CodeUnavailable:
		if c.typed != nil { // a person, who can wait for the server
			fmt.Fprintln(c.term.err, "!", err)
			fmt.Fprintln(c.term.err, "(what the server had taken is kept; go on when it is back)")
			return nil
		}
	case "", parley.CodeInternal, parley.CodeUnauthenticated:
	default:
		if c.typed != nil { // a person, who can choose another session, or say it in fewer words
			fmt.Fprintln(c.term.err, "!", err)
			return nil
		}
	}
	return err
}

// say posts one message and prints the answer as it streams.
func (c *chat) say(ctx context.Context, text string) error {
	input := client.UserMessage(text)
	input.Model, input.During = c.model, c.during
	if len(c.files) > 0 {
		content := parley.UserContent{Text: text}
		for _, file := range c.files {
			content.Files = append(content.Files, file.ID.String())
		}
		var err error
		if input.Content, err = parley.EncodeContent(content); err != nil {
			return err
		}
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	c.files = nil
	err := c.turn(
		ctx,
		func(ctx context.Context) frames { return c.server.PostMessageStream(ctx, c.session.ID, input) },
	)
	if errors.Is(err, errQuiet) { // the turn failed, or was left
		return err
	}
	return c.undo(ctx, err)
}

// resume resumes the session's last turn.
func (c *chat) resume(ctx context.Context, how resumption) error {
	if c.session.ID.IsZero() {
		return parley.Errorf(parley.CodeNotFound, "nothing ran in this session yet")
	}
	turns, err := c.server.Turns(ctx, c.session.ID, client.TurnsQuery{Limit: 1})
	if err != nil {
		return err
	}
	if len(turns.Data) == 0 {
		return parley.Errorf(parley.CodeNotFound, "nothing ran in this session yet")
	}
	return c.turn(ctx, func(ctx context.Context) frames { return how.stream(ctx, c.server, turns.Data[0].ID) })
}

type shownKey struct {
	message parley.ID
	kind    parley.ContentKind
}

// turnView prints a turn's frames: text to the output, remarks about everything else to the error output.
type turnView struct {
	chat  *chat
	shown map[shownKey]int // bytes printed so far
	note  bool             // the last thing printed was reasoning
	last  parley.ID        // the message whose text was printed last
	prose *markdown        // prints that text
	open  bool             // its line has not ended

	asking      asking
	interrupted <-chan struct{} // closed when the person stops the turn
}

func newTurnView(c *chat) *turnView { return &turnView{chat: c, shown: map[shownKey]int{}} }

// watch prints a frame without asking for what the turn waits for.
func (v *turnView) watch(ctx context.Context, frame client.Frame) error {
	if v.chat.json {
		return v.chat.term.printLine(frame)
	}
	if told, ok := frame.Event.(*event.MessageCreated); ok && told.Role == parley.RoleUser {
		asked, err := v.chat.server.Message(ctx, told.MessageID)
		if err != nil {
			return err
		}
		v.tell(headline(asked) + ": " + messageText(&asked))
	}
	v.print(ctx, frame)
	if frame.Type.EndsTurn() {
		v.endLine()
		v.tell("(" + string(endedTurn(frame).Status) + ")")
	}
	return nil
}

func (v *turnView) show(ctx context.Context, frame client.Frame) (over bool, err error) {
	if v.chat.json {
		if err := v.chat.term.printLine(frame); err != nil {
			return true, err
		}
	} else {
		v.print(ctx, frame)
		if over, err := v.answer(ctx, frame); over || err != nil {
			return true, err
		}
	}
	if !frame.Type.EndsTurn() {
		return false, nil
	}
	turn := endedTurn(frame)
	if !v.chat.json {
		v.endLine()
	}
	switch turn.Status {
	case parley.TurnFailed:
		if !v.chat.json && turn.Error != nil {
			fmt.Fprintln(v.chat.term.err, "!", turn.Error.Sentence)
			if turn.Error.Detail != "" {
				fmt.Fprintln(v.chat.term.err, " ", turn.Error.Detail)
			}
		}
		return true, errQuiet
	case parley.TurnCancelled:
		if !v.chat.json {
			fmt.Fprintln(v.chat.term.err, "(cancelled; the session continues)")
		}
	}
	return true, nil
}

// answer asks the person for what the turn waits for. over reports that the turn still waits.
func (v *turnView) answer(ctx context.Context, frame client.Frame) (over bool, err error) {
	v.asking.note(frame)
	waiting, ok := frame.Event.(*event.SessionWaiting)
	if !ok {
		return false, nil
	}
	over, err = v.askAll(ctx, waiting.Reason)
	if over && err == nil {
		select {
		case <-v.interrupted: // the cancel brings its end
			over = false
		default:
			err = errQuiet
		}
	}
	return over, err
}

func (v *turnView) print(ctx context.Context, frame client.Frame) {
	switch told := frame.Event.(type) {
	case *event.StepGenerating:
		v.text(shownKey{told.MessageID, told.Kind}, told.Offset, told.Delta)
	case *event.StepRaw:
		v.raw(told)
	case *event.StepGenerated:
		v.settled(told.Messages)
	case *event.StepError:
		v.settled(told.Messages)
	default:
		v.remark(ctx, told)
	}
}

// endedTurn is the turn in a terminal frame.
func endedTurn(frame client.Frame) parley.Turn {
	switch told := frame.Event.(type) {
	case *event.SessionCompleted:
		return told.Turn
	case *event.SessionFailed:
		return told.Turn
	case *event.SessionCancelled:
		return told.Turn
	}
	return parley.Turn{}
}

// settled prints the rest of a step's messages.
func (v *turnView) settled(messages []event.SettledMessage) {
	for _, m := range messages {
		var content parley.AssistantContent
		if m.Role == parley.RoleAssistant && json.Unmarshal(m.Content, &content) == nil {
			v.text(shownKey{m.MessageID, parley.KindReasoning}, 0, content.Reasoning)
			v.text(shownKey{m.MessageID, parley.KindText}, 0, content.Text+content.Refusal)
		}
	}
}

// remark prints what happens beside the text.
func (v *turnView) remark(ctx context.Context, told event.Payload) {
	var says string
	switch told := told.(type) {
	case *event.ToolStarted:
		says = told.Name
	case *event.ToolProgress:
		says = fmt.Sprintf("%s, %g", told.Name, told.Progress)
		if told.Total != nil {
			says += fmt.Sprintf(" of %g", *told.Total)
		}
		if told.Message != "" {
			says += ": " + parley.Clip(plainLine(told.Message), maxLine)
		}
	case *event.ToolCompleted:
		var took int64
		if told.ExecutionTimeMS != nil {
			took = *told.ExecutionTimeMS
		}
		says = fmt.Sprintf("%s, %d ms", told.Name, took)
		if !told.Success {
			says = fmt.Sprintf("%s failed, %d ms", told.Name, took)
			if why := v.failure(ctx, told.MessageID); why != "" {
				says += ": " + why
			}
		}
	case *event.StepRetrying:
		says = fmt.Sprintf("attempt %d in %d ms, after: %s", told.Attempt, told.WaitMS, told.Class.Sentence())
	case *event.SessionWaiting:
		says = "for " + string(told.Reason)
		if told.Refused != nil && told.Sentence != "" {
			says += ": " + told.Sentence
		}
	case *event.LimitWarning:
		says = fmt.Sprintf("%d %% of %s is used", int(100*told.Share), told.Limit)
	default:
		return
	}
	v.endLine()
	fmt.Fprintf(v.chat.term.err, "[%s %s]\n", told.Type(), says)
}

// maxFailure bounds what a remark shows of a tool's error, in bytes.
const maxFailure = 240

// failure is the error in a tool's result, on one line; "" if the server does not tell.
func (v *turnView) failure(ctx context.Context, result parley.ID) string {
	message, err := v.chat.server.Message(ctx, result)
	var content parley.ToolResultContent
	if err != nil || json.Unmarshal(message.Content, &content) != nil || content.Error == nil {
		return ""
	}
	return parley.Clip(strings.Join(strings.Fields(*content.Error), " "), maxFailure)
}

// text prints the rest of a text.
func (v *turnView) text(key shownKey, offset int, text string) {
	if key.kind == parley.KindArguments {
		return
	}
	fresh := v.shown[key] - offset
	if fresh < 0 || fresh >= len(text) {
		return
	}
	if v.last != key.message {
		v.endLine()
		v.prose = markdownOn(v.chat.term.out)
	}
	v.last = key.message
	if key.kind == parley.KindReasoning {
		if !v.note {
			fmt.Fprint(v.chat.term.err, "(reasoning) ")
		}
		v.note = true
		fmt.Fprint(v.chat.term.err, text[fresh:])
	} else {
		if v.note {
			fmt.Fprintln(v.chat.term.err)
		}
		v.note = false
		v.prose.print(text[fresh:])
		v.open = !strings.HasSuffix(text, "\n")
	}
	v.shown[key] = offset + len(text)
}

// raw prints what the provider sent, line by line, apart from the answer.
func (v *turnView) raw(told *event.StepRaw) {
	v.endLine()
	for line := range strings.Lines(told.Text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			fmt.Fprintln(v.chat.term.err, "[raw]", line)
		}
	}
}

// endLine ends the line of a text before something else is printed.
func (v *turnView) endLine() {
	if v.prose != nil {
		v.prose.pause()
	}
	if v.open {
		fmt.Fprintln(v.chat.term.out)
	}
	v.open = false
}
