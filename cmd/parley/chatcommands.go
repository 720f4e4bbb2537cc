package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/client"
)

// errLeft ends a chat that the person leaves by a command.
var errLeft = errors.New("left")

// chatCommand is a line of a chat that begins with a slash.
type chatCommandOf struct {
	name, takes, says string
	run               func(c *chat, ctx context.Context, rest string) error
}

// chatCommands are the commands of a chat, but for those that say how a line enters a running turn.
func chatCommands() []chatCommandOf {
	return []chatCommandOf{
		{"help", "", "list the commands", (*chat).help},
		{"model", "[MODEL]", "ask this model from now on; without MODEL, say which one", (*chat).chooseModel},
		{"agent", "[AGENT]", "begin a new session with this agent; without AGENT, list them", (*chat).chooseAgent},
		{"retry", "", "try the last turn again", func(c *chat, ctx context.Context, _ string) error {
			return c.resume(ctx, retryTurn)
		}},
		{"continue", "", "continue the last turn after a limit", func(c *chat, ctx context.Context, _ string) error {
			return c.resume(ctx, continueTurn)
		}},
		{"fork", "[TITLE]", "go on in a fork of this session; the session stays as it is", (*chat).fork},
		{"pin", "", "pin the last answer: it stays in the agent's context", (*chat).pin},
		{"compact", "", "summarise all but the newest turn", (*chat).compact},
		{"cost", "", "show the tokens and the cost of this session", (*chat).cost},
		{"export", "[FILE]", "write the conversation as Markdown", (*chat).export},
		{"quit", "", "leave; the session stays", func(*chat, context.Context, string) error { return errLeft }},
	}
}

// chatHelp is a list of the commands.
func chatHelp() string {
	var out strings.Builder
	for _, command := range chatCommands() {
		fmt.Fprintf(&out, "  %-16s %s\n", "/"+strings.TrimSpace(command.name+" "+command.takes), command.says)
	}
	return strings.TrimRight(out.String(), "\n")
}

// wholeHelp is chatHelp with what can be typed during a turn.
func wholeHelp() string {
	return chatHelp() + "\nWhile an answer streams: /steer TEXT, /queue TEXT, /interrupt TEXT; Ctrl-C cancels it."
}

// completedCommand returns the commands that begin with what is typed; nil if that is not the beginning of one.
func completedCommand(typed string) []string {
	name, ok := strings.CutPrefix(typed, "/")
	if !ok || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil
	}
	var names []string
	for _, how := range waysIn() {
		names = append(names, string(how))
	}
	for _, command := range chatCommands() {
		names = append(names, command.name)
	}
	slices.Sort(names)
	found := []string{}
	for _, one := range names {
		if strings.HasPrefix(one, name) {
			found = append(found, "/"+one)
		}
	}
	return found
}

// commandIn splits a line into a command, "" if it is a message, and what follows. A path such as /etc/hosts is not a
// command; // at the start sends a slash.
func commandIn(line string) (command, rest string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, ok := strings.CutPrefix(strings.ToLower(word), "/")
	if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", ""
	}
	if how, _ := spoken(line); how != "" {
		return "", ""
	}
	return name, strings.TrimSpace(rest)
}

// obey runs a command.
func (c *chat) obey(ctx context.Context, name, rest string) error {
	for _, command := range chatCommands() {
		if command.name != name {
			continue
		}
		if rest != "" && command.takes == "" {
			return parley.Errorf(parley.CodeInvalid, "/%s takes nothing after it", name)
		}
		return command.run(c, ctx, rest)
	}
	if slices.Contains(waysIn(), parley.During(name)) {
		return parley.Errorf(parley.CodeInvalid, "/%s needs a text after it", name)
	}
	return parley.Errorf(parley.CodeInvalid,
		"there is no command /%s: /help lists the commands; to send a message that begins with a slash, type //", name)
}

// inSession fails before the first message of a new session.
func (c *chat) inSession() error {
	if c.session.ID.IsZero() {
		return parley.Errorf(parley.CodeConflict, "nothing has been said yet")
	}
	return nil
}

func (c *chat) help(context.Context, string) error {
	fmt.Fprintln(c.term.err, wholeHelp())
	return nil
}

func (c *chat) chooseModel(ctx context.Context, rest string) error {
	if rest != "" {
		chosen, known := parley.ModelID(rest), false
		providers, err := c.server.Providers(ctx)
		if err != nil {
			return err
		}
		var names []string
		for i := range providers.Data {
			if p := &providers.Data[i]; p.Configured || p.Simulator {
				names = append(names, p.Name)
				known = known || p.Name == chosen.Provider()
			}
		}
		if !known {
			return parley.Errorf(parley.CodeInvalid, "write provider/model; configured are %s (parley models lists "+
				"models)", strings.Join(names, ", "))
		}
		c.model = chosen
	}
	model := c.model
	if model == "" {
		var err error
		if model, err = c.usualModel(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintln(c.term.err, "model:", modelLabel(model))
	return nil
}

// usualModel is the model of messages that name none: the session's, the agent's, or the server's.
func (c *chat) usualModel(ctx context.Context) (parley.ModelID, error) {
	if c.session.Model != "" {
		return c.session.Model, nil
	}
	word := cmp.Or(c.agent, parley.BuiltinAgentSlug)
	if !c.session.ID.IsZero() {
		word = c.session.AgentID.String()
	}
	agent, err := c.server.Agent(ctx, word)
	if err != nil || agent.Model != "" {
		return agent.Model, err
	}
	models, err := c.server.Models(ctx, client.ModelsQuery{Limit: 1})
	return models.Default, err
}

func (c *chat) chooseAgent(ctx context.Context, rest string) error {
	if rest == "" {
		agents, err := c.server.Agents(ctx, client.AgentsQuery{Limit: mostCompleted})
		if err != nil {
			return err
		}
		for i := range agents.Data {
			fmt.Fprintf(c.term.err, "  %-16s %s\n", plainLine(agents.Data[i].Slug), plainLine(agents.Data[i].Name))
		}
		return nil
	}
	agent, err := referAgent(ctx, c.server, rest)
	if err != nil {
		return err
	}
	c.leave()
	c.agent, c.session, c.fresh, c.seen = agent, parley.Session{}, false, 0
	fmt.Fprintln(c.term.err, "The next message starts a session with", rest)
	return nil
}

func (c *chat) fork(ctx context.Context, rest string) error {
	if err := c.inSession(); err != nil {
		return err
	}
	fork, err := c.server.ForkSession(ctx, c.session.ID, client.ForkInput{BranchInput: client.BranchInput{Title: rest}})
	if err != nil {
		return err
	}
	c.leave()
	c.enter(fork)
	return nil
}

func (c *chat) pin(ctx context.Context, _ string) error {
	if err := c.inSession(); err != nil {
		return err
	}
	answers, err := c.server.Messages(ctx, c.session.ID, client.MessagesQuery{
		Role: []parley.Role{parley.RoleAssistant}, Order: "desc", Limit: 1,
	})
	if err != nil {
		return err
	}
	if len(answers.Data) == 0 {
		return parley.Errorf(parley.CodeNotFound, "there is no answer yet")
	}
	last := &answers.Data[0]
	_, err = c.server.MarkMessage(ctx, last.ID, client.MarksPatch{Pinned: new(true)},
		client.MarkMessageQuery{Session: c.session.ID})
	if err == nil {
		fmt.Fprintf(c.term.err, "pinned #%d: %s\n", last.Sequence, plainLine(messageText(last)))
	}
	return err
}

func (c *chat) compact(ctx context.Context, _ string) error {
	if err := c.inSession(); err != nil {
		return err
	}
	compaction, err := c.server.CompactSession(ctx, c.session.ID, client.CompactInput{})
	if err != nil {
		return err
	}
	return c.term.printCompaction(&compaction)
}

func (c *chat) cost(ctx context.Context, _ string) error {
	if err := c.inSession(); err != nil {
		return err
	}
	session, err := c.server.Session(ctx, c.session.ID)
	if err != nil {
		return err
	}
	s := &session.Statistics
	fmt.Fprintf(c.term.err, "%s, %s, %d tokens in, %d out, $%s\n",
		several(s.Turns, "turn"), several(s.Calls, "call"), s.InputTokens, s.OutputTokens, s.Cost)
	if s.Unpriced > 0 {
		fmt.Fprintf(c.term.err, "The price of %d calls is unknown.\n", s.Unpriced)
	}
	return nil
}

// several is a number of things.
func several[N ~int | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (c *chat) export(ctx context.Context, rest string) error {
	if err := c.inSession(); err != nil {
		return err
	}
	file, err := c.server.ExportSession(ctx, c.session.ID, client.ExportSessionQuery{Format: "markdown"})
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if rest == "" {
		rest = "parley-" + c.session.ID.String() + ".md"
	}
	switch err := saveFile(rest, file, false); {
	case errors.Is(err, fs.ErrExist):
		return parley.Errorf(parley.CodeConflict, "%s exists: choose another name with /export FILE", rest)
	case err != nil:
		return parley.Errorf(parley.CodeInvalid, "the conversation was not written: %v", err)
	}
	fmt.Fprintln(c.term.err, "wrote", rest)
	return nil
}
